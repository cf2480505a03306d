import { parseJson } from '#base/parse-json'
import { AppError, fromProblem, Problem } from '#manager/contract'
import { replyOf } from '#proxy/network'

/** The error of a reply that is no success, for routes whose reply is read as a stream. */
export async function failureOf(reply: Response): Promise<AppError> {
  const problem = Problem.safeParse(parseJson(await replyOf(reply).text()))
  return problem.success ? fromProblem(problem.data) : new AppError('unavailable', { why: `HTTP ${reply.status}` })
}
