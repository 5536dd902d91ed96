// Random numbers that a seed and a name determine.
export class Random {
  #state;

  constructor(seed, name) {
    let hash = 0x811c9dc5 ^ seed;
    for (const char of `${seed}/${name}`) hash = Math.imul(hash ^ char.codePointAt(0), 0x01000193);
    this.#state = hash >>> 0;
  }

  // In [0, 1). Mulberry32.
  next() {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let z = this.#state;
    z = Math.imul(z ^ (z >>> 15), z | 1);
    z ^= z + Math.imul(z ^ (z >>> 7), z | 61);
    return ((z ^ (z >>> 14)) >>> 0) / 2 ** 32;
  }

  // A whole number in [low, high].
  between(low, high) {
    return low + Math.floor(this.next() * (high - low + 1));
  }

  chance(probability) {
    return this.next() < probability;
  }

  shuffled(list) {
    const out = [...list];
    for (let i = out.length - 1; i > 0; i--) {
      const k = this.between(0, i);
      [out[i], out[k]] = [out[k], out[i]];
    }
    return out;
  }
}
