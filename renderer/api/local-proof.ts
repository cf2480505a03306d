import { fromProblem, isProblem } from '#manager/contract'
import { LOCAL_CODE_PATH, LOCAL_PROOF_HEADER, LOCAL_PROOF_PATH, type LocalCode } from '#proxy/contract'

const KEY = 'berth.local-proof'

/** Proves that this browser runs on the computer of the console. The proof belongs to one sign-in and is useless with another. */
export interface LocalProof {
  /** Headers for requests to the local proxy; empty for other paths, and without a proof. */
  headers(path: string): Record<string, string>
  /** Requests a code for `berth local`; null if the console has no such command. @throws the console's error */
  ask(): Promise<LocalCode | null>
  /**
   * Exchanges a code, from a link that `berth up` printed or from `ask`, for a proof. @returns false if the code is too old, from another
   * computer, or not confirmed yet
   */
  prove(code: string): Promise<boolean>
}

export function createLocalProof(deps: {
  readonly storage: Pick<Storage, 'getItem' | 'setItem'>
  /** A `fetch` that sends the sign-in of the page. */
  readonly fetch: typeof fetch
}): LocalProof {
  const { storage } = deps
  function post(path: string, args: readonly string[]): Promise<Response> {
    const { fetch } = deps
    const headers = { 'content-type': 'application/json' }
    return fetch(path, { method: 'POST', headers, body: JSON.stringify(args) })
  }
  return {
    headers(path) {
      const proof = path.startsWith('/host/') ? storage.getItem(KEY) : null
      return proof === null ? {} : { [LOCAL_PROOF_HEADER]: proof }
    },
    async ask() {
      const reply = await post(LOCAL_CODE_PATH, [])
      const body = (await reply.json()) as { value?: LocalCode | null }
      if (isProblem(body)) throw fromProblem(body)
      return body.value ?? null
    },
    async prove(code) {
      const reply = await post(LOCAL_PROOF_PATH, [code])
      const body = reply.ok ? ((await reply.json()) as { value: unknown }) : undefined
      if (typeof body?.value !== 'string') return false
      storage.setItem(KEY, body.value)
      return true
    },
  }
}
