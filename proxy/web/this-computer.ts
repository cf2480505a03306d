import { createHmac, randomBytes } from 'node:crypto'
import { type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { LOCAL_PROOF_HEADER } from '#proxy/contract'
import { readIfThere, writeFileAtomically } from '../files.ts'
import { isSameSecret } from '../http-origins/secrets.ts'
import { isLoopbackAddress } from './guard.ts'

/** Decides which browsers run on this process's computer, and so may have ports opened and SSH keys written there. */
export interface ThisComputer {
  /** Creates a code for a link that only the user of this process's account sees; valid for ten minutes. */
  createCode(): string
  /**
   * Exchanges a code for a proof that the browser sends from now on with this sign-in.
   *
   * @returns undefined for a code that is wrong or too old, and for a request that did not come directly
   * @throws nothing
   */
  prove(request: IncomingMessage, code: string, originSecret: string): string | undefined
  isLocal(request: IncomingMessage, originSecret: string): boolean
}

const CODE_MS = 10 * 60_000

/**
 * Threat model: a reverse proxy, an SSH forward or any program of another user here connects from loopback too, and may leave
 * out every field that would say so (nginx does by default). So a request is local only if it came from loopback, to a loopback
 * name, with no sign of a forwarder, and with a proof that belongs to its sign-in. The proof is issued for a code, and codes go
 * to the parent process alone (`berth up` prints them in a link): having a code means being able to run programs as the account
 * under which we listen and write. The key stays in a file of mode 0600, so that proofs outlive a restart; a proof ends with
 * its sign-in.
 * @param policy `off`: loopback and a loopback name are enough, for computers without a proxy in front and with one user
 */
export async function openThisComputer(options: {
  readonly dataDir: string
  readonly policy: 'required' | 'off'
  readonly now?: () => number
}): Promise<ThisComputer> {
  const { dataDir, policy, now = Date.now } = options
  const path = join(dataDir, 'proxy', 'local-proof.key')
  let key = await readIfThere(path)
  if (key === undefined || key === '') {
    key = randomBytes(32).toString('base64url')
    await writeFileAtomically(path, key)
  }
  const secret = key
  const mac = (kind: 'code' | 'proof', text: string) =>
    createHmac('sha256', secret).update(`${kind}\n${text}`).digest('base64url')

  return {
    createCode() {
      const until = String(now() + CODE_MS)
      return `${until}.${mac('code', until)}`
    },
    prove(request, code, originSecret) {
      const [until = '', sent = ''] = code.split('.')
      const isGood = isSameSecret(sent, mac('code', until)) && Number(until) > now()
      return isGood && isDirect(request) ? mac('proof', originSecret) : undefined
    },
    isLocal(request, originSecret) {
      if (!isDirect(request)) return false
      const sent = request.headers[LOCAL_PROOF_HEADER]
      return policy === 'off' || (typeof sent === 'string' && isSameSecret(sent, mac('proof', originSecret)))
    },
  }
}

const FORWARDING_FIELDS = ['forwarded', 'via', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto', 'x-real-ip']

/** No sign of an intermediary between the browser and us. Browsers do not speak HTTP/1.0; nginx does to its upstreams. */
export function isDirect({ headers, socket, httpVersion }: IncomingMessage): boolean {
  const isLoopbackName = /^(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/i.test(headers.host ?? '')
  const isForwarded = FORWARDING_FIELDS.some(name => headers[name] !== undefined)
  return isLoopbackAddress(socket.remoteAddress) && isLoopbackName && !isForwarded && httpVersion !== '1.0'
}
