import { LOCAL_PROOF_HEADER, LOCAL_PROOF_PATH } from '#proxy/contract'

const KEY = 'berth.local-proof'

/** Proves that this browser runs on the computer of the console. The proof belongs to one sign-in and is useless with another. */
export interface LocalProof {
  /** Headers for requests to the local proxy; empty for other paths, and without a proof. */
  headers(path: string): Record<string, string>
  /** Exchanges the code of a link that `berth up` printed. @returns false if the code is too old, or from another computer */
  prove(code: string): Promise<boolean>
}

export function createLocalProof(deps: {
  readonly storage: Pick<Storage, 'getItem' | 'setItem'>
  /** Must send the sign-in of the page along. */
  readonly fetch: typeof fetch
}): LocalProof {
  const { storage } = deps
  return {
    headers(path) {
      const proof = path.startsWith('/host/') ? storage.getItem(KEY) : null
      return proof === null ? {} : { [LOCAL_PROOF_HEADER]: proof }
    },
    async prove(code) {
      const { fetch } = deps
      const headers = { 'content-type': 'application/json' }
      const reply = await fetch(LOCAL_PROOF_PATH, { method: 'POST', headers, body: JSON.stringify([code]) })
      const body = reply.ok ? ((await reply.json()) as { value: unknown }) : undefined
      if (typeof body?.value !== 'string') return false
      storage.setItem(KEY, body.value)
      return true
    },
  }
}
