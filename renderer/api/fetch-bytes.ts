import { parseJson } from '#base/parse-json'
import { type ApiClient, AppError, fromProblem, isAppError, isProblem } from '#manager/contract'
import { fetchWithSecret, type OriginSecret } from './origin-secret.ts'

export interface FetchBytesDeps {
  /** Renews the sign-in if possible, or shows that it has ended. */
  readonly api: ApiClient
  readonly secret: Pick<OriginSecret, 'get'>
  readonly fetch?: typeof fetch
}

/** `fetch` that throws an AppError unless the answer is good, or 416: the file is empty, so no range of it exists. */
export type FetchBytes = (url: string, init?: RequestInit) => Promise<Response>

/** For answers that consist of bytes: they have no JSON form, so the typed client cannot fetch them. */
export function createFetchBytes(deps: FetchBytesDeps): FetchBytes {
  const send = fetchWithSecret(
    deps.fetch ?? ((input, init) => fetch(input, { ...init, credentials: 'same-origin', cache: 'no-store' })),
    deps.secret,
  )

  async function attempt(url: string, init: RequestInit): Promise<Response> {
    let response: Response
    try {
      response = await send(url, init)
    } catch (error) {
      if (init.signal?.aborted) throw error
      throw new AppError('unavailable', { why: 'The server does not answer.' }, { cause: error })
    }
    if (!response.ok && response.status !== 416) throw await failureOf(response)
    return response
  }

  return async (url, init = {}) => {
    try {
      return await attempt(url, init)
    } catch (error) {
      if (!isAppError(error) || error.code !== 'not_signed_in') throw error
      // Another tab may have signed in anew: this call adopts its sign-in, or throws.
      await deps.api.me()
      return await attempt(url, init)
    }
  }
}

async function failureOf(response: Response): Promise<AppError> {
  const problem = parseJson(await response.text())
  if (isProblem(problem)) return fromProblem(problem)
  return new AppError(response.status >= 500 ? 'unavailable' : 'internal', { why: `HTTP ${response.status}` })
}
