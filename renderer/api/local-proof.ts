import { LOCAL_PROOF_HEADER, LOCAL_PROOF_PATH } from '#proxy/contract'

const KEY = 'berth.local-proof'

/** The proof of this browser that it runs on the computer of the console. It belongs to one sign-in, and is useless with another. */
export interface LocalProof {
  /** For requests to the local proxy. */
  headers(path: string): Record<string, string>
  /** Exchanges the code of a link that `berth up` printed. @returns false for a code that is too old, or of another computer */
  prove(code: string): Promise<boolean>
}

export function createLocalProof(deps: {
  readonly storage: Pick<Storage, 'getItem' | 'setItem'>
  /** Sends the sign-in of the page along. */
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
