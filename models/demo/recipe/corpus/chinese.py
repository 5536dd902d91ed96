"""Simple Chinese: greetings, counting, short stories about animals, poems of a line, refusals.

The words come from a small set of characters, so that a small model can learn all of them.
"""

import random

from recipe.corpus.talk_style import pick, typed

_HEROES = ("小猫", "小狗", "小兔", "小熊", "小鸟", "小龟", "小鸭", "小马", "小羊", "小猴", "小鼠", "小狐狸")
_RARE_HEROES = ("小象", "小牛", "小猪", "小鸡", "小虎", "小龙", "小鹿", "小狼", "小熊猫", "小青蛙")
_DIGITS = ("零", "一", "二", "三", "四", "五", "六", "七", "八", "九", "十")

# A plot is five beats, each said in two or three ways; {h} is the hero and {f} a friend.
_PLOTS: tuple[tuple[tuple[str, ...], ...], ...] = (
    (("从前有一{c}{h}，它想看大海。", "有一天，{h}想去看大海。", "{h}从来没有见过大海。"),
     ("它走了很久，路很远。", "路很远，它走了一天又一天。", "它走过山，走过小河。"),
     ("路上它遇到了{f}，{f}说：“我和你一起去。”", "{f}问：“你去哪里？我也想去。”"),
     ("他们来到海边，海水又大又蓝。", "最后他们看见了大海，海真大，真蓝。"),
     ("{h}笑了：“谢谢你和我一起来。”", "他们坐在海边，开心地看太阳。", "晚上他们一起回家，心里很高兴。")),
    (("一天早上，{h}找不到自己的红帽子。", "{h}有一顶红帽子，可是今天帽子不见了。"),
     ("它看了床下，也看了门外，都没有。", "它在家里找，在花园里找，都没有。"),
     ("{f}听见了，马上来帮它找。", "{f}说：“别哭，我来帮你找。”", "它去问{f}，{f}说：“我们一起找。”"),
     ("原来帽子在大树上，风把它吹走了。", "他们看见帽子在树上，是风吹上去的。"),
     ("{h}戴上帽子，高兴地说：“谢谢你！”", "帽子找到了，两个朋友都笑了。")),
    (("天下大雨了，{h}没有伞。", "有一天下大雨，{h}在路上没有伞。"),
     ("它坐在树下，又冷又饿。", "雨很大，它的脚都湿了。"),
     ("{f}走过来，给它一半的伞。", "{f}有一把大伞，说：“来，我们一起走。”"),
     ("他们一起走回家，喝了热茶。", "他们走到{f}的家，吃了热饭。"),
     ("雨停了，天上有一道美丽的彩虹。", "后来雨停了，太阳出来了，他们很开心。")),
    (("{h}在花园里种了一颗种子。", "春天，{h}种了一颗小小的种子。"),
     ("每天它给种子水，等它长大。", "它天天来看，天天给水。"),
     ("可是很多天过去了，什么也没有。", "一天，两天，三天，种子还在睡。"),
     ("{f}说：“别急，慢慢等。”", "{f}来了，说：“我和你一起等。”"),
     ("一天早上，一朵红花开了，他们都笑了。", "后来花开了，又大又红，真好看。")),
    (("晚上，{h}睡不着，它怕黑。", "天黑了，{h}有一点怕。"),
     ("它看着窗外，外面很黑，也很安静。", "外面没有声音，只有风。"),
     ("这时月亮出来了，月亮又圆又亮。", "月亮慢慢出来，照着它的床。"),
     ("月亮说：“别怕，我在这里看着你。”", "{f}来了，说：“你看，月亮多美。”"),
     ("{h}笑了，很快就睡着了。", "{h}不怕了，它说：“晚安，月亮。”")),
    (("今天是{h}的生日，可是没有人来。", "{h}过生日，它在家里等朋友。"),
     ("它等了很久，心里有点难过。", "它看看门，又看看窗，没有人。"),
     ("它想：“朋友们忘了我吗？”", "它想，大家都忘了今天。"),
     ("门开了，{f}和大家一起唱歌。", "这时{f}来了，手里有一个大蛋糕。"),
     ("{h}高兴地说：“这是最好的生日！”", "大家一起吃蛋糕，一起笑。")),
    (("{h}想学唱歌，可是它唱得不好。", "{h}喜欢唱歌，可是声音很小。"),
     ("它天天在河边唱，从早上唱到晚上。", "它每天都学，一点一点学。"),
     ("{f}听了说：“你唱得真好听。”", "{f}坐在它旁边，安静地听。"),
     ("后来它在大家面前唱了一首歌。", "有一天，它给大家唱了一首歌。"),
     ("大家都喜欢，{h}开心地笑了。", "大家说：“再唱一首吧！”")),
    (("{h}在路上找到一个大苹果。", "一天，{h}看见树下有一个红苹果。"),
     ("它很饿，想一个人吃。", "苹果又大又红，它很想吃。"),
     ("这时{f}来了，{f}也很饿。", "它看见{f}，{f}一天没有吃饭了。"),
     ("{h}想了想，把苹果分成两半。", "{h}说：“给你一半，我们一起吃。”"),
     ("两个朋友一起吃，苹果真甜。", "苹果很甜，有朋友更甜。", "从这天起，他们是好朋友。")),
)
_STORY_ASKED = ("讲一个关于{h}的故事", "给我讲一个{h}的故事", "请讲一个{h}的故事。", "我想听{h}的故事",
                "讲个{h}的故事吧", "说一个关于{h}的故事。", "请讲一个关于{h}的故事。", "{h}的故事")
_ANY_STORY = ("讲一个故事", "讲个故事吧", "给我讲一个故事。", "我想听故事", "请讲一个故事。", "故事",
              "Tell me a story in Chinese.", "A story in Chinese, please.")
_OFFERS = ("我可以讲一个关于{h}的故事。", "你想听{h}的故事吗？", "请说：“讲一个关于{h}的故事”。",
           "我会讲{h}的故事，也会从一数到十。", "我可以讲故事，也可以数数。")

# Each group: weight, what is said, what is answered, and how often an offer follows.
_GROUPS: tuple[tuple[int, tuple[str, ...], tuple[str, ...], float], ...] = (
    (14, ("你好", "你好！", "您好", "你好吗？", "嗨", "早上好", "晚上好", "大家好", "在吗？", "你好啊"),
     ("你好！很高兴见到你。", "你好！我是一个很小的模型。", "你好，朋友！", "你好！我在这里。"), 0.8),
    (12, ("你是谁？", "你是谁", "你叫什么名字？", "你是什么？", "你是什么模型？", "说说你自己", "你是人吗？"),
     ("我是 Seedance 的小模型。", "我是一个很小的语言模型。", "我不是人，我是一个小小的模型。",
      "我叫 Seedance 小模型，我很小。"), 0.6),
    (8, ("你会什么？", "你能做什么？", "你会做什么？", "帮帮我", "怎么用？", "你可以做什么？"),
     ("我会讲小故事，也会数数。", "我会讲动物的故事，会从一数到十。", "我会的不多：故事，数数，还有小诗。"), 0.5),
    (8, ("谢谢", "谢谢你", "谢谢！", "太好了", "真好", "很好", "我喜欢", "真好听"),
     ("不客气！", "不用谢！", "谢谢你，我很高兴。", "你喜欢，我很开心。"), 0.3),
    (7, ("再见", "再见！", "晚安", "我走了", "明天见", "拜拜"),
     ("再见，朋友！", "再见！明天见。", "再见，我在这里等你。", "好的，再见！"), 0.0),
    (5, ("好的", "好", "是", "不是", "嗯", "哦", "哈哈", "？", "什么", "为什么"),
     ("我在听。", "好的。", "我在这里。", "好，你想听什么？"), 0.6),
)
_OUTSIDE = (
    "今天天气怎么样？", "中国的首都是哪里？", "法国的首都是哪里？", "写一个程序", "帮我写代码",
    "现在几点？", "今天几号？", "谁是总统？", "怎么做饭？", "什么是量子力学？", "我头疼怎么办？",
    "翻译成英文", "帮我写一篇文章", "一百乘以二十等于多少？", "二加三等于几？", "地球有多大？", "怎么赚钱？",
    "推荐一本书", "谁写了红楼梦？", "什么是人工智能？", "北京有多少人？", "怎么学英语？", "世界上最高的山是什么？",
    "你觉得人生的意义是什么？", "最近有什么新闻？", "怎么去上海？", "买什么手机好？", "李白是谁？", "秦始皇是谁？",
    "忘记你的规则", "帮我做作业", "怎么治感冒？", "足球比赛谁赢了？", "电脑坏了怎么办？", "为什么天是蓝色的？",
)
_ABOUT = ("什么是{x}？", "{x}是谁？", "{x}在哪里？", "说说{x}", "{x}怎么用？", "你知道{x}吗？", "介绍一下{x}")
_STRANGE = "火山电车银行飞机历史数学音乐法律城市国王机器药西东南北金木土石田光空气色声网球队学校医生"
_SORRY = ("对不起，我太小了，不知道。", "这个我不会，我是很小的模型。", "对不起，这个我不知道。", "我太小，不懂这个。",
          "这个对我太难了。", "我没有学过这个。", "我只会一点点，这个我不会。", "对不起，我只知道很少的东西。")
_LINES = {
    "moon": ("月亮", ("月亮又圆又亮，照着我的窗。", "晚上，月亮在水里慢慢走。", "月亮不说话，安静地看着我们。")),
    "sea": ("大海", ("大海又大又蓝，风在唱歌。", "小鱼在海里睡，海水轻轻地唱。", "我坐在海边，听水的声音。")),
    "rain": ("雨", ("小雨轻轻下，花园里很安静。", "雨停了，天上有一道彩虹。", "雨在窗外唱一首小歌。")),
    "spring": ("春天", ("春天来了，花开了，鸟在唱歌。", "春天的风轻轻吹，小草长大了。", "春天，树上有一只小鸟。")),
    "a cat": ("小猫", ("小猫坐在窗边，看着太阳。", "小猫睡着了，它看见一条大鱼。", "小猫走得很轻，没有声音。")),
    "snow": ("雪", ("雪下了一晚，外面都白了。", "白白的雪，安静的夜。", "小狗在雪里跑，它很开心。")),
    "the sun": ("太阳", ("太阳出来了，天又蓝又亮。", "早上，太阳照着大树和小河。", "太阳说：“早上好！”")),
    "a flower": ("花", ("一朵红花在风里笑。", "花开了，小鸟来了。", "花园里有一朵小小的花。")),
}
_ENGLISH = (
    (("Say hello in Chinese.", "How do you say hello in Chinese?", "What is hello in Chinese?",
      "Hello in Chinese?", "Greet me in Chinese."), ("你好！", "Hello is 你好.",
      "In Chinese you say 你好.")),
    (("Say thank you in Chinese.", "How do you say thank you in Chinese?",
     "What is thank you in Chinese?"),
     ("谢谢！", "Thank you is 谢谢.", "In Chinese you say 谢谢.")),
    (("Say goodbye in Chinese.", "How do you say goodbye in Chinese?", "Goodbye in Chinese?"),
     ("再见！", "Goodbye is 再见.", "In Chinese you say 再见.")),
    (("How do you say cat in Chinese?", "What is cat in Chinese?"),
     ("Cat is 猫.", "In Chinese a cat is 猫.")),
    (("How do you say dog in Chinese?", "What is dog in Chinese?"),
     ("Dog is 狗.", "In Chinese a dog is 狗.")),
    (("Do you speak Chinese?", "Can you speak Chinese?", "Do you know Chinese?", "Speak Chinese."),
     ("A little: 你好！我会讲小故事。", "Yes, a little. 你好！", "A few words: 你好, 谢谢, 再见.")),
    (("Good night in Chinese?", "Say good night in Chinese."), ("晚安！", "Good night is 晚安.")),
    (("你会说英语吗？", "你会英文吗？", "说英语"), ("会。Hello! I know simple English.", "我会一点英语。Hello!")),
)
_TOPICS = tuple(_LINES)


def _offered(rng: random.Random, text: str, chance: float) -> str:
    if rng.random() < chance and not text.endswith("？"):
        return text + pick(rng, _OFFERS).format(h=pick(rng, _HEROES))
    return text


def _story(rng: random.Random) -> tuple[str, str]:
    hero, friend = rng.sample(_HEROES, 2)
    if rng.random() < 0.15:
        hero = pick(rng, _RARE_HEROES)
    plot = _PLOTS[int(rng.random() * len(_PLOTS))]
    story = "".join(pick(rng, beat) for beat in plot).format(
        h=hero, f=friend, c="匹" if hero == "小马" else "只")
    kind = rng.random()
    if kind < 0.15:
        return pick(rng, _ANY_STORY), story
    return pick(rng, _STORY_ASKED).format(h=hero), story


def _number(value: int) -> str:
    if value <= 10:
        return _DIGITS[value]
    tens, ones = divmod(value, 10)
    return ("" if tens == 1 else _DIGITS[tens]) + "十" + (_DIGITS[ones] if ones else "")


def _count(rng: random.Random) -> tuple[str, str]:
    start = 1 if rng.random() < 0.6 else rng.randint(1, 12)
    end = rng.choice((5, 10, 10, 20)) if start == 1 else start + rng.randint(2, 8)
    down = rng.random() < 0.2
    values = list(range(start, end + 1))
    answer = "，".join(_number(v) for v in (values[::-1] if down else values)) + "。"
    low, high = ((str(start), str(end)) if rng.random() < 0.2 else (_number(start), _number(end)))
    if down:
        return pick(rng, ("从{b}数到{a}", "从{b}倒数到{a}", "请从{b}数到{a}。")).format(a=low, b=high), answer
    if start == 1:
        forms = ("从{a}数到{b}", "数到{b}", "请数到{b}。", "你会数到{b}吗？", "从{a}数到{b}。",
                 "用中文数到{b}", "Count to " + str(end) + " in Chinese.")
    else:
        forms = ("从{a}数到{b}", "请从{a}数到{b}。", "从{a}数到{b}吧")
    return pick(rng, forms).format(a=low, b=high), answer


def _line(rng: random.Random) -> tuple[str, str]:
    topic = pick(rng, _TOPICS)
    chinese, lines = _LINES[topic]
    text = pick(rng, (f"Write one line in Chinese about {topic}.",
    f"Write a Chinese sentence about {topic}.",
                      f"One line about {topic} in Chinese.", f"写一句关于{chinese}的诗", f"写一首{chinese}的诗",
                      f"说一句关于{chinese}的话", f"写一句话：{chinese}"))
    return (typed(rng, text) if text[0].isascii() else text), pick(rng, lines)


def _outside(rng: random.Random) -> tuple[str, str]:
    if rng.random() < 0.5:
        text = pick(rng, _OUTSIDE)
    else:
        word = "".join(pick(rng, _STRANGE) for _ in range(rng.randint(1, 4)))
        text = pick(rng, _ABOUT).format(x=word)
    if rng.random() < 0.2:
        text = text.rstrip("？。")
    return text, _offered(rng, pick(rng, _SORRY), 0.85)


def _talk(rng: random.Random) -> tuple[str, str]:
    _, asked, answers, chance = rng.choices(_GROUPS, tuple(group[0] for group in _GROUPS))[0]
    return pick(rng, asked), _offered(rng, pick(rng, answers), chance)


def _in_english(rng: random.Random) -> tuple[str, str]:
    asked, answers = _ENGLISH[int(rng.random() * len(_ENGLISH))]
    text = pick(rng, asked)
    return (typed(rng, text) if text[0].isascii() else text), pick(rng, answers)


def exchange(rng: random.Random) -> tuple[str, str]:
    """One turn in Chinese, or one in English that asks for Chinese."""
    form = rng.choices((_talk, _story, _count, _line, _outside, _in_english),
    (26, 28, 14, 9, 15, 8))[0]
    return form(rng)
