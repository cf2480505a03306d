import { AppError } from '#manager/contract'

/** Runs one step for each path, in order; the error of a step says how many were done before. */
export async function eachPath<T>(paths: readonly string[], step: (path: string) => Promise<T>): Promise<T[]> {
  const done: T[] = []
  for (const path of paths) {
    try {
      done.push(await step(path))
    } catch (error) {
      if (!(error instanceof AppError) || paths.length === 1) throw error
      throw new AppError(error.code, { ...error.detail, path, done: done.length }, { cause: error })
    }
  }
  return done
}
