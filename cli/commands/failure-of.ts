import { AppError, fromProblem, Problem } from '#manager/contract'

/** The error of a reply that is no success, for routes whose reply is read as a stream. */
export async function failureOf(reply: Response): Promise<AppError> {
  const problem = Problem.safeParse(await reply.json().catch(() => undefined))
  return problem.success ? fromProblem(problem.data) : new AppError('unavailable', { why: `HTTP ${reply.status}` })
}
