import { type OpenFile } from '../storage/open-file.ts'

/** How long the size of a file is taken to hold: others may shorten it. */
const HOLDS_MS = 1_000

/**
 * The part of an open file that has room on the disk already: bytes that are written there are no new ones for the limits of a folder. A file
 * with holes, or whose file system tells of fewer blocks, has no such part.
 */
export class FilledPart {
  readonly #now: () => number
  #end = 0
  #until = -Infinity

  constructor(now = () => performance.now()) {
    this.#now = now
  }

  /** Bytes of a write that take new room. */
  async newBytes(file: Pick<OpenFile, 'state'>, start: number, bytes: number): Promise<number> {
    if (this.#until <= this.#now()) {
      const { size, allocated } = await file.state()
      this.#end = allocated >= size ? size : 0
      this.#until = this.#now() + HOLDS_MS
    }
    return Math.max(0, start + bytes - Math.max(start, this.#end))
  }

  /** Notes a write that is over. */
  written(start: number, bytes: number): void {
    if (start <= this.#end) this.#end = Math.max(this.#end, start + bytes)
  }
}
