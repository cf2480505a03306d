import { type Random } from './random.ts'

/**
 * A program that is tested with random inputs. An input fails if it throws: the message describes the observation (`unanswered in 5 s`,
 * `HTTP 500 …`), and the number of the input is added. Add a target to the list in `main.ts`.
 */
export interface FuzzTarget {
  /** A word, for `--target` and reports. */
  readonly name: string
  /** Number of inputs in progress at once. */
  readonly atOnce: number
  /** Share of the inputs of a run, relative to other targets: cheap targets take many. */
  readonly weight: number
  start(): Promise<FuzzRun>
}

export interface FuzzRun extends AsyncDisposable {
  /** Sends one input and waits until it is handled. Everything follows from `random`. @throws an error that describes the failure */
  input(random: Random): Promise<void>
  /** Called occasionally, and at the end, while no input is in progress. @throws if the process has ended or descriptors have grown */
  check(): Promise<void>
}

/** No input may take longer: the manager answers each request within this time, on a busy machine too. */
export const SLOW_MS = 10_000

/** @throws `slow` if it takes longer than SLOW_MS */
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
