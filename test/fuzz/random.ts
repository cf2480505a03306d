import { createHash } from 'node:crypto'

/** A stream of choices determined by its seed alone, so that an input can be repeated from the numbers in the report. */
export class Random {
  #state: number

  /** @param parts seed of the run, name of the target, number of the input */
  constructor(...parts: readonly (string | number)[]) {
    this.#state = createHash('sha256').update(parts.join('/')).digest().readUInt32LE(0)
  }

  /** Mulberry32: 0 ≤ x < 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }

  int(below: number): number {
    return Math.floor(this.next() * below)
  }

  chance(probability: number): boolean {
    return this.next() < probability
  }

  /** @param list not empty */
  pick<T>(list: readonly T[]): T {
    return list[this.int(list.length)] as T
  }

  bytes(length: number): Buffer {
    return Buffer.from(Array.from({ length }, () => this.int(256)))
  }

  /** Text of the kinds that break parsers. */
  text(longest = 40): string {
    const odd = [
      '',
      '\0',
      '\r\n',
      '\u202e',
      '\u{1f600}',
      '\ud800',
      '%00',
      '../',
      "'; --",
      '<b>',
      '-1',
      '1e308',
      'NaN',
      '__proto__',
    ]
    if (this.chance(0.3)) return this.pick(odd)
    return Array.from({ length: this.int(longest) }, () =>
      String.fromCharCode(32 + this.int(this.chance(0.9) ? 95 : 60_000)),
    ).join('')
  }

  /** Any JSON value, small. */
  json(depth = 3): unknown {
    const kind = this.int(depth > 0 ? 8 : 6)
    if (kind === 0) return null
    if (kind === 1) return this.chance(0.5)
    if (kind === 2) return this.pick([0, -1, 1, 0.5, 2 ** 31, 2 ** 53, 1e308, -1e308])
    if (kind < 6) return this.text()
    const items = Array.from({ length: this.int(5) }, () => this.json(depth - 1))
    return kind === 6 ? items : Object.fromEntries(items.map(item => [this.text(12), item]))
  }
}
