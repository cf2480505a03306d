import { request as httpRequest, type IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { checkServerIdentity, TLSSocket } from 'node:tls'
import { type AppsAddress, appsAddressText, originOfApp } from '#manager/contract'
import { appsFaultText, type AppsFaultCode, type AppsState } from '#proxy/contract'
import { type Log } from '../../log.ts'

/** Path at every app's address that belongs to us and shows that Berth serves it. */
export const READY_PATH = '/_berth/ready'
export const READY_HEADER = 'berth-apps'

/** Knows whether the address of apps leads to this console. */
export interface AddressWatch {
  /** Result of the last try; if it is older than a minute, another try begins. */
  state(): AppsState
  /** Tries the address now. */
  check(): Promise<AppsState>
}

const TRY_MS = 5_000
const FRESH_MS = 60_000
/** A name that no app can have: names of apps are MACs. */
const NO_APP = 'a'.repeat(16)

/**
 * Calls the address of apps by its name, as a browser elsewhere would. A firewall between this computer and the browser is not
 * seen; a name, port, certificate or reverse proxy that is wrong is.
 */
export function watchAddress(
  address: AppsAddress | undefined,
  { log, proposal }: { readonly log: Log; readonly proposal: string | null },
): AddressWatch {
  const text = address ? appsAddressText(address) : null
  const known = { address: text, proposal: text === null ? proposal : null }
  let state: AppsState = { ...known, fault: null }
  let triedAt = -Infinity

  async function check(): Promise<AppsState> {
    triedAt = performance.now()
    if (!address) return state
    const ports = address.kind === 'ports' ? [...new Set([address.first, address.last])] : [null]
    const faults = await Promise.all(
      ports.map(async port => {
        const at = originOfApp(address, { name: NO_APP, port })
        const code = await tryOne(at)
        return code === undefined ? undefined : { code, at }
      }),
    )
    const fault = faults.find(one => one !== undefined) ?? null
    if (fault && fault.code !== state.fault?.code) log.warn({ at: fault.at }, appsFaultText(fault).says)
    state = { ...known, fault }
    return state
  }

  return {
    check,
    state() {
      if (performance.now() - triedAt > FRESH_MS) void check()
      return state
    },
  }
}

/** @returns undefined if Berth answers there */
function tryOne(origin: string): Promise<AppsFaultCode | undefined> {
  const { promise, resolve } = Promise.withResolvers<AppsFaultCode | undefined>()
  const isSecure = origin.startsWith('https:')
  const options = { agent: false, timeout: TRY_MS, method: 'HEAD' } as const
  const onAnswer = (response: IncomingMessage) => {
    response.resume()
    const { socket } = response
    const isForName =
      !(socket instanceof TLSSocket) ||
      checkServerIdentity(new URL(origin).hostname, socket.getPeerCertificate()) === undefined
    resolve(response.headers[READY_HEADER] === undefined ? 'not_berth' : isForName ? undefined : 'wrong_certificate')
  }
  // The issuer of the certificate does not matter here: our own is trusted by those who have compared it.
  const sent = isSecure
    ? httpsRequest(origin + READY_PATH, { ...options, rejectUnauthorized: false }, onAnswer)
    : httpRequest(origin + READY_PATH, options, onAnswer)
  sent.on('timeout', () => sent.destroy(new Error('no answer in time')))
  sent.on('error', (error: NodeJS.ErrnoException) => resolve(faultOf(error)))
  sent.end()
  return promise
}

function faultOf({ code = '', message }: NodeJS.ErrnoException): AppsFaultCode {
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return 'no_name'
  if (code.startsWith('ERR_SSL') || code === 'EPROTO') return 'wrong_certificate'
  return code.startsWith('HPE_') || message.includes('Parse Error') ? 'not_berth' : 'unreachable'
}
