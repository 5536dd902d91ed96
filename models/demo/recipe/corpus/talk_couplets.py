"""Rhymed couplets by topic, eight or more each, and general ones that name any topic as `{x}`."""

_BY_TOPIC = {
    "the sea": """
The sea is wide, the sea is blue, / it hums a quiet song for you.
The waves come in, the waves go out, / and gulls above them fly about.
A little boat goes up and down / and leaves behind the sleepy town.
The sand is warm, the wind is free, / and all the rivers find the sea.
A whale sings low, a whale sings deep, / and sings the little fish to sleep.
At night the moon looks down to see / its silver face upon the sea.
I found a shell beside the shore, / and in it I could hear the roar.
The tide is gentle, slow and grand, / it writes its letters in the sand.
The harbour lights begin to glow / when evening winds come in to blow.""",
    "the moon": """
The moon is round, the moon is bright, / it keeps a lamp lit through the night.
It climbs above the sleeping hill / when all the world is soft and still.
The owl looks up and says hello / to silver light on fields below.
Some nights it is a golden ball, / some nights I see no moon at all.
It shines on roof and road and tree, / and through the window shines on me.
The clouds go by, the moon stays there / and sends its light through cool night air.
It has no legs, and yet it goes / from hill to hill on silent toes.
Good night, dear moon, so far, so near, / I like to know that you are here.""",
    "the sun": """
The sun gets up and paints the sky / with gold and red for birds on high.
It warms the wall, it warms the cat, / it warms the grandpa in his hat.
The flowers turn to see its face / and open up in every place.
When clouds are grey and rain has gone, / the friendly sun comes shining on.
At noon it stands above the tree / and throws small shadows, one, two, three.
At evening it goes down to bed / and leaves the clouds all pink and red.
The sun is far, the sun is strong, / and summer days are warm and long.
It never asks, it only gives / its light to everything that lives.""",
    "the stars": """
The stars come out when day is done, / I count them slowly, one by one.
They shine above the sleeping town / and from the dark they all look down.
A star fell down behind the hill, / and I am looking for it still.
So small they seem, so far away, / they sleep unseen throughout the day.
The sailor knows them all by name, / and every night they shine the same.
I wished upon the brightest star / and sent my wish to where you are.
The night is deep, the night is blue, / with stars for me and stars for you.
They do not hurry, do not speak, / they play with clouds at hide and seek.""",
    "the rain": """
The rain goes tap upon the pane / and sings its little song again.
It fills the pond, it fills the cup, / and all the thirsty plants drink up.
The frogs are glad, the snails come out, / the ducks are splashing all about.
I wear my boots, I wear my coat, / and let a paper ship afloat.
The drops run down the window glass / and jump into the waiting grass.
When rain is over, look up high: / a rainbow stands across the sky.
The clouds are low, the streets are wet, / I have not found my hat as yet.
It rains on roofs, it rains on trees, / it rains on birds and flowers and bees.""",
    "the snow": """
The snow came softly in the night / and dressed the sleeping world in white.
Each little flake, so light, so small, / lies down to rest beside the wall.
The fox has left a row of prints, / and no one walked across them since.
We built a man with coal for eyes, / he looks at us in calm surprise.
The roofs are white, the road is gone, / and still the flakes keep falling on.
The trees wear coats, the gates wear hats, / and snow surprises all the cats.
The air is cold, the fire is warm, / and we sit safe from any storm.
Tomorrow, when the sun is near, / the snow will melt and disappear.""",
    "the wind": """
The wind goes running round the house, / it whispers softly like a mouse.
It shakes the leaves, it bends the wheat, / it chases paper down the street.
It took my hat and would not say / where it had carried it that day.
It has no hands, it has no face, / and yet it moves from place to place.
The kites go up, the leaves come down, / the wind walks freely through the town.
At night it hums a sleepy tune / and pushes clouds across the moon.
It fills the sails, it turns the mill, / and then, at last, the wind is still.
It rings the bells, it rocks the boat, / it pulls the buttons of my coat.""",
    "a river": """
The river starts so thin, so small, / a silver thread, a waterfall.
It runs past mill and field and town / and never stops on its way down.
The fish swim in it, green and gold, / the stones beneath are smooth and old.
A leaf sails by, a tiny boat, / the calmest traveller afloat.
The heron stands upon one leg / and thinks of nothing but his egg.
The bridges let the river through, / it says good day and says adieu.
It sings by day, it sings by night, / in morning mist and evening light.
And in the end it comes to be / a little piece of all the sea.""",
    "a tree": """
The tree stands quiet on the hill / and while the years go by stands still.
Its roots go deep, its top goes high, / it holds a piece of summer sky.
A bird has built her nest up there / and sings into the morning air.
In spring it wears a coat of green, / the finest coat I ever have seen.
In autumn all its leaves turn gold, / it lets them go when nights are cold.
The squirrel runs from bough to bough / and hides a hundred acorns now.
I sit beneath it in the shade / and thank it for the roof it made.
It was a seed once, small and round, / and slept all winter underground.""",
    "a flower": """
A flower opened in the sun, / a small and quiet day begun.
It wears a dress of red and blue / and drinks a little drop of dew.
The bee comes by and stays for tea, / it is a busy thing, a bee.
It has no voice, it has no wings, / but oh, what happiness it brings.
It grew beside the garden gate / and there it likes to stand and wait.
I did not pick it, let it stay / and greet the people on their way.
At night it folds its petals tight / and dreams until the morning light.
The rain comes down, the flower bends, / the rain and flower are good friends.""",
    "a cat": """
The cat lies sleeping in the sun / and dreams of mice and how they run.
Her paws are soft, her eyes are green, / the finest cat you have ever seen.
She walks along the garden wall / and never, never seems to fall.
She washes first her nose and chin / and then she asks to be let in.
She likes her milk, she likes her chair, / she likes a hand upon her hair.
At night she hunts without a sound, / her quiet feet go round and round.
She purrs a song both deep and low, / what it may mean I do not know.
A box is all she wants to own, / she sits in it as on a throne.""",
    "a dog": """
My dog is waiting at the door / with muddy paws upon the floor.
He wags his tail, he barks at me, / he thinks a cat sits in that tree.
I throw the ball, he brings it back, / his nose is wet, his ears are black.
He digs a hole, he hides a bone, / he does not like to be alone.
He runs through grass, he runs through rain / and then comes running back again.
He sleeps beside me on the rug / and asks me for an evening hug.
He does not talk, but in his way / he tells me of his happy day.
A friend like him is good to find, / he is so loyal and so kind.""",
    "a fox": """
A fox came softly through the wood / and stopped upon a stone and stood.
His coat is red, his tail is long, / he hums a little evening song.
He knows the paths, he knows the hill, / he knows the way to stand quite still.
The moon is up, the fox is out, / he sniffs the grass and looks about.
He wears white socks upon his feet / and runs across the silent street.
He looked at me, I looked at him, / and then the evening light grew dim.
He has a den beneath a tree / with cubs inside it, one, two, three.
He left a footprint in the snow / to tell us where the foxes go.""",
    "a bird": """
A little bird sat on a bough / and sang: the day is starting now.
It built a nest of straw and thread / and made itself a feather bed.
It spreads its wings, it flies up high / and draws a line across the sky.
It wakes before the sun is up / and drinks out of a flower cup.
It does not know a single word, / and yet it sings, the little bird.
In autumn, when the nights are long, / it travels south and takes its song.
It hops along the garden wall / and gives a cheerful morning call.
Five speckled eggs lie in the nest, / and there the mother takes her rest.""",
    "the night": """
The night comes in on quiet feet / and lights the lamps along the street.
The birds are silent in the tree, / the stars look down on you and me.
The owl awakes, the mouse takes care, / a smell of rain is in the air.
The houses close their window eyes / beneath the dark and friendly skies.
The clock goes slow, the fire burns low, / the dreams come in all in a row.
The cat goes out, the child goes in, / and now the stories can begin.
Do not be scared, the dark is kind, / it leaves the noisy day behind.
And when the night has had its play, / it opens up the door for day.""",
    "the morning": """
The morning comes with golden light / and sends away the sleepy night.
The birds begin, the kettle sings, / who knows what happy things it brings.
The grass is wet, the air is new, / each little leaf wears pearls of dew.
I open up my window wide / and let the morning come inside.
The baker has been up since three, / his bread smells good to you and me.
The cat yawns once, the cat yawns twice / and thinks of breakfast and of mice.
The sun looks in upon my bed / and says: get up, you sleepyhead.
A brand new day, a page of white, / with room for all that we will write.""",
    "spring": """
The snow is gone, the brook runs free, / a bud is on the apple tree.
The birds come back from far away / and sing about the longer day.
The lambs are jumping on the hill, / not one of them is standing still.
The bees fly out, the grass is green, / the rain has washed the whole world clean.
The sun is warm upon my face, / and flowers grow in every place.
The frogs are singing in the lake, / and all the sleepy seeds awake.
The windows open one by one, / and cats lie down to watch the sun.
The old coat hangs upon its nail, / and clouds go by with silver sail.""",
    "autumn": """
The leaves come down in red and gold, / the days are short, the nights are cold.
The apples fall, the nuts are brown, / a yellow leaf sails through the town.
The mist lies soft upon the lake / before the sleepy birds awake.
The hedgehog makes a bed of hay / and sleeps the winter months away.
The kites go up, the wind is strong, / the evenings by the fire are long.
The pumpkins shine like little suns / and look at everyone who runs.
The geese fly over in a row / and call to us before they go.
I walk through leaves up to my knee / and bring a golden one with me.""",
    "winter": """
The pond is ice, the grass is white, / and early comes the winter night.
The trees stand bare against the sky, / and flakes of snow come dancing by.
The robin waits beside the door / for crumbs of bread, and then for more.
We drink our cocoa, warm and sweet, / with woollen socks upon our feet.
The bear is sleeping in her den / till spring will call her out again.
The window wears a flower of frost, / and somewhere is a glove I lost.
The sledges fly, the children shout, / the smoke of every house curls out.
The days are short, the stars are clear, / and slowly, slowly spring comes near.""",
    "a friend": """
A friend will come when skies are grey / and sit with you throughout the day.
We share our bread, we share our fun, / two friends can do much more than one.
A friend will hear the words you say / and never laughs your fears away.
We built a house of chairs and sheets / and filled it up with tea and sweets.
When I am lost, when I feel small, / a friend is near enough to call.
We walk along the garden wall / and talk of nothing much at all.
I have a secret, you have two, / and mine is safe when kept by you.
The road is long, but side by side / the road is neither steep nor wide.""",
    "home": """
The lamp is lit, the door is wide, / come in from evening cold outside.
The kettle sings, the soup is hot, / and there is plenty in the pot.
A chair for you, a chair for me, / a window with an apple tree.
I know each step upon the stair, / I know the creaking of my chair.
However far I have to roam, / the best of roads is that back home.
The rain may fall, the wind may blow, / inside there is a golden glow.
My bed is soft, my room is small, / with little pictures on the wall.
The cat is sleeping by the fire, / and that is all that I desire.""",
    "a garden": """
Behind the gate the roses grow, / and beans are standing in a row.
The hedgehog comes when it is late / and walks right underneath the gate.
I water every plant with care / and find a snail asleep somewhere.
The bees are busy all day long / and fill the garden with their song.
The peas climb up, the roots go down, / the greenest place in all the town.
The sunflower stands so straight, so tall, / it looks across the garden wall.
I plant a seed, I wait and see, / and soon a leaf looks up at me.
The swing hangs from the apple tree, / it swings for you, it swings for me.""",
}

_OF_ANYTHING = """
I sat and thought of {x} today / and put my other thoughts away.
If I could fly, if I could sing, / then {x} would hear the news I bring.
Some people look for gold, it is true, / but {x} is nice to think of too.
The sun came up, the sky was clear, / and {x} was in my thoughts, quite near.
I wrote a line on {x} with care / and hung it in the evening air.
A song for {x}, a song for you, / a song of one small line or two.
I asked the owl, I asked the hen, / and both said {x}, and both again.
I am too small to be a sage, / but {x} can fill a tiny page.
The wind told {x}, the wind told me, / and then it told the apple tree.
Of {x} I know so little yet, / but what I know I will not forget.
Oh {x}, oh {x}, what can I say? / You make a good and gentle day.
When evening comes and lamps are lit, / I think of {x} a little bit.
If {x} should ever pass my door, / I would say hello and ask for more.
The moon was out, the night was deep, / and {x} came softly through my sleep.
Let others write of war and kings, / I write of {x} and little things.
One thought for {x}, one thought for tea, / that is enough for you and me."""


def _lines(text: str) -> tuple[str, ...]:
    couplets = (couplet.split(" / ") for couplet in text.strip().split("\n"))
    return tuple("\n".join(line[0].upper() + line[1:] for line in couplet) for couplet in couplets)


COUPLETS: dict[str, tuple[str, ...]] = {topic: _lines(text) for topic, text in _BY_TOPIC.items()}
GENERAL: tuple[str, ...] = _lines(_OF_ANYTHING)
