import { createHmac, randomBytes } from 'node:crypto'
import { type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { LOCAL_PROOF_HEADER } from '#proxy/contract'
import { readIfThere, writeFileAtomically } from '../files.ts'
import { isSameSecret } from '../http-origins/secrets.ts'
import { isLoopbackAddress } from './guard.ts'
import { type LocalCodes, type ProofLevel } from './local-codes.ts'

/** Decides which browsers run on this process's computer, and so may have it open ports and write SSH keys there. */
export interface ThisComputer {
  /** Creates a code for a link that only the user of this process's account sees; valid for ten minutes. */
  createCode(): string
  /** Creates a code that the browser shows and `berth local` confirms, for a request that came directly. */
  ask(request: IncomingMessage, originSecret: string, about: Parameters<LocalCodes['ask']>[1]): string | undefined
  /**
   * Exchanges a code of either kind for a proof that the browser sends from now on with this sign-in.
   *
   * @returns undefined for a code that is wrong, too old or not confirmed yet, and for a request that did not come directly
   * @throws nothing
   */
  prove(request: IncomingMessage, code: string, originSecret: string): string | undefined
  /** Level of the request's proof; undefined for a request that may come from another computer. */
  levelOf(request: IncomingMessage, originSecret: string): ProofLevel | undefined
}

const CODE_MS = 10 * 60_000
const LEVELS: readonly ProofLevel[] = ['account', 'computer']
/** Kinds of signed messages: a proof of one level is not valid for the other. */
const KINDS = { account: 'proof', computer: 'computer' } as const

/**
 * Threat model: a reverse proxy, an SSH forward or any program of another user here connects from loopback too, and may leave out every
 * field that would say so (nginx does by default). So a request is local only if it came from loopback, to a loopback name, with no sign of
 * a forwarder, and with a proof that belongs to its sign-in. The proof is issued for a code. Codes of links go to the parent process alone
 * (`berth up` prints them): having one means being able to run programs as the account under which we listen and write. A code that a
 * browser shows counts only for this browser, and only once a program on this computer has confirmed it over a socket of the file system
 * (`local-socket.ts`). A code that any user may confirm gives no right to write files of our account. The key stays in a file of mode 0600,
 * so that proofs outlive a restart; a proof ends with its sign-in.
 * @param policy `off`: loopback and a loopback name are enough, for computers without a proxy in front and with one user
 */
export async function openThisComputer(options: {
  readonly dataDir: string
  readonly policy: 'required' | 'off'
  readonly codes: LocalCodes
  readonly now?: () => number
}): Promise<ThisComputer> {
  const { dataDir, policy, codes, now = Date.now } = options
  const path = join(dataDir, 'proxy', 'local-proof.key')
  let key = await readIfThere(path)
  if (key === undefined || key === '') {
    key = randomBytes(32).toString('base64url')
    await writeFileAtomically(path, key)
  }
  const secret = key
  const mac = (kind: 'code' | 'proof' | 'computer' | 'owner', text: string) =>
    createHmac('sha256', secret).update(`${kind}\n${text}`).digest('base64url')

  return {
    createCode() {
      const until = String(now() + CODE_MS)
      return `${until}.${mac('code', until)}`
    },
    ask(request, originSecret, about) {
      return isDirect(request) ? codes.ask(mac('owner', originSecret), about) : undefined
    },
    prove(request, code, originSecret) {
      if (!isDirect(request)) return undefined
      const [until = '', sent = ''] = code.split('.')
      const isGood = isSameSecret(sent, mac('code', until)) && Number(until) > now()
      const level = isGood ? 'account' : codes.take(code, mac('owner', originSecret))
      return level && mac(KINDS[level], originSecret)
    },
    levelOf(request, originSecret) {
      if (!isDirect(request)) return undefined
      if (policy === 'off') return 'account'
      const sent = request.headers[LOCAL_PROOF_HEADER]
      if (typeof sent !== 'string') return undefined
      return LEVELS.find(level => isSameSecret(sent, mac(KINDS[level], originSecret)))
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
