import { type OpenFile } from '../storage/open-file.ts'

/** Time for which a known size of the file is trusted: others may shorten it. */
const HOLDS_MS = 1_000

/**
 * The part of an open file that already occupies disk space: bytes written there do not count for the limits of a folder. A file with
 * holes, or whose file system reports fewer blocks, has no such part.
 */
export class FilledPart {
  readonly #now: () => number
  #end = 0
  #until = -Infinity

  constructor(now = () => performance.now()) {
    this.#now = now
  }

  /** Number of bytes of a write that need new space. */
  async newBytes(file: Pick<OpenFile, 'state'>, start: number, bytes: number): Promise<number> {
    if (this.#until <= this.#now()) {
      const { size, allocated } = await file.state()
      this.#end = allocated >= size ? size : 0
      this.#until = this.#now() + HOLDS_MS
    }
    return Math.max(0, start + bytes - Math.max(start, this.#end))
  }

  /** Records that the file is new. */
  isEmpty(): void {
    this.#end = 0
    this.#until = this.#now() + HOLDS_MS
  }

  /** Records a finished write. */
  written(start: number, bytes: number): void {
    if (start <= this.#end) this.#end = Math.max(this.#end, start + bytes)
  }
}
