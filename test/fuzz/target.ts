import { type Random } from './random.ts'

/**
 * Something that is fed with random inputs. An input fails when it throws: with what was seen (`unanswered in 5 s`,
 * `HTTP 500 …`), the number of the input is added. Add a target to the list in `main.ts`.
 */
export interface FuzzTarget {
  /** A word, for `--target` and reports. */
  readonly name: string
  /** How many inputs are under way at once. */
  readonly atOnce: number
  /** Share of the inputs of a run, relative to other targets: cheap targets take many. */
  readonly weight: number
  start(): Promise<FuzzRun>
}

export interface FuzzRun extends AsyncDisposable {
  /** Sends one input and waits until it is dealt with. Everything follows from `random`. @throws what went wrong */
  input(random: Random): Promise<void>
  /** Called now and then, and at the end, while no input is under way. @throws where the process has ended or descriptors have grown */
  check(): Promise<void>
}

/** No input may take longer: the manager answers each request within this time, on a busy machine too. */
export const SLOW_MS = 10_000

/** @throws `slow` where it takes longer than SLOW_MS */
export async function within<T>(what: string, act: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`slow: ${what} took more than ${SLOW_MS} ms`)), SLOW_MS)
  })
  try {
    return await Promise.race([act, late])
  } finally {
    clearTimeout(timer)
  }
}
