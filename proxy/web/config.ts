import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import { AppError, type AppsAddress, MOST_APP_PORTS, parseAppsAddress } from '#manager/contract'
import { type TlsConfig, tlsConfigOf, TlsEnvironment } from './tls/tls-config.ts'

/** Configuration of the web process, read from the environment; `main.ts` documents the variables. */
export interface WebConfig {
  /** Ports and settings of users are kept in `<dataDir>/proxy`. */
  readonly dataDir: string
  /** 0 = any free port. */
  readonly port: number
  /** True: `berth up` listens at the port, and hands each connection over. */
  readonly isPortHeld?: boolean | undefined
  /** Address to listen on; left out: loopback (127.0.0.1 and ::1). */
  readonly host?: string | undefined
  readonly managerUrl: string
  /** Host names (with port, if not the default one) that browsers use besides the loopback names. */
  readonly allowedHosts: readonly string[]
  /** Addresses of reverse proxies that are trusted to report the client's address and scheme. */
  readonly trustedProxies?: readonly string[] | undefined
  /** Address of apps, for browsers on other computers and for published apps; left out: neither is available. */
  readonly appsAddress?: AppsAddress | undefined
  /** Secret shared with the manager, which then trusts our reports about our clients. */
  readonly consoleSecret?: string | undefined
  /** Runtime directory that systemd made for this service. */
  readonly runtimeDirectory?: string | undefined
  /** Whether browsers on this computer have to prove that they run here; default `required`. */
  readonly localProof?: 'required' | 'off' | undefined
  /**
   * Key of the direct path to apps on this computer (ADR 41), which `berth up` gives to its agent too; left out if that path is
   * turned off.
   */
  readonly directKey?: string | undefined
  /** Folder of the built page. */
  readonly consoleDir: string
  /** A development server that serves the page instead. */
  readonly consoleDevUrl?: string | undefined
  /** Directory of the SSH kit; left out: `.ssh` in the home directory. */
  readonly sshDirectory?: string | undefined
  readonly version: string
  /** Left out: plain http. */
  readonly tls?: TlsConfig | undefined
}

const LOOPBACK_NAMES: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '::1'])

const Environment = TlsEnvironment.extend({
  BERTH_DATA: z.string().min(1).optional(),
  BERTH_PORT: z.coerce.number().int().min(0).max(65_535).default(8400),
  BERTH_PORT_HELD: z.literal('1').optional(),
  BERTH_HOST: z.string().min(1).optional(),
  BERTH_MANAGER_URL: z.url({ protocol: /^https?$/ }),
  BERTH_ALLOWED_HOSTS: z.string().default(''),
  BERTH_TRUSTED_PROXIES: z.string().default(''),
  BERTH_APPS_ADDRESS: z.string().optional(),
  BERTH_CONSOLE_SECRET: z.string().min(32).optional(),
  BERTH_CONSOLE_SECRET_FILE: z.string().optional(),
  BERTH_LOCAL_PROOF: z.enum(['required', 'off']).default('required'),
  RUNTIME_DIRECTORY: z.string().optional(),
  BERTH_DIRECT_KEY: z.string().min(32).optional(),
  BERTH_DIRECT_PATH: z.enum(['on', 'off']).default('on'),
  BERTH_SSH_DIR: z.string().min(1).optional(),
  BERTH_CONSOLE_DIR: z.string().min(1).optional(),
  BERTH_CONSOLE_DEV_URL: z.url({ protocol: /^https?$/ }).optional(),
})

/** @throws AppError `config_invalid` */
export function parseConfig(
  environment: Readonly<Record<string, string | undefined>>,
  defaults: { readonly consoleDir: string; readonly version: string },
): WebConfig {
  const set = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ''))
  const parsed = Environment.safeParse(set)
  if (!parsed.success) throw new AppError('config_invalid', { why: z.prettifyError(parsed.error) })
  const read = parsed.data
  const allowedHosts = listOf(read.BERTH_ALLOWED_HOSTS)
  const host = LOOPBACK_NAMES.has(read.BERTH_HOST ?? '') ? undefined : read.BERTH_HOST
  const trustedProxies = addressesOf(read.BERTH_TRUSTED_PROXIES)
  const appsAddress = appsAddressOf(read.BERTH_APPS_ADDRESS, { allowedHosts, port: read.BERTH_PORT })
  return {
    dataDir: read.BERTH_DATA ?? join(homedir(), '.local', 'share', 'berth'),
    port: read.BERTH_PORT,
    isPortHeld: read.BERTH_PORT_HELD !== undefined,
    host,
    managerUrl: read.BERTH_MANAGER_URL.replace(/\/+$/, ''),
    allowedHosts,
    trustedProxies,
    appsAddress,
    consoleSecret: read.BERTH_CONSOLE_SECRET ?? readSecretFile(read.BERTH_CONSOLE_SECRET_FILE),
    localProof: read.BERTH_LOCAL_PROOF,
    runtimeDirectory: read.RUNTIME_DIRECTORY,
    directKey: read.BERTH_DIRECT_PATH === 'on' ? read.BERTH_DIRECT_KEY : undefined,
    consoleDir: read.BERTH_CONSOLE_DIR ?? defaults.consoleDir,
    consoleDevUrl: read.BERTH_CONSOLE_DEV_URL,
    sshDirectory: read.BERTH_SSH_DIR,
    version: defaults.version,
    tls: tlsConfigOf(read, { host, allowedHosts, trustedProxies, appsAddress }),
  }
}

/**
 * Reads the address of apps. Ports of a name of the console are allowed: browsers send the console's cookie there too, and it is
 * no sign-in without the secret of the console's origin (ADR 0016); no app sees it (`public-apps/visitor-headers.ts`). Names are not:
 * a wildcard above the console's own name would make the console an app.
 *
 * @throws AppError `config_invalid`
 */
function appsAddressOf(
  text: string | undefined,
  { allowedHosts, port }: { readonly allowedHosts: readonly string[]; readonly port: number },
): AppsAddress | undefined {
  if (text === undefined) return undefined
  const address = parseAppsAddress(text)
  if (!address) {
    const why = `BERTH_APPS_ADDRESS must look like https://*.apps.example.org or http://apps.example.org:20000-20099 (at most ${MOST_APP_PORTS} ports).`
    throw new AppError('config_invalid', { why })
  }
  const taken = address.kind === 'names' ? nameOfConsole(address, allowedHosts) : portOfConsole(address, port)
  if (taken === undefined) return address
  throw new AppError('config_invalid', { why: `BERTH_APPS_ADDRESS must not include ${taken}.` })
}

function nameOfConsole({ suffix }: { readonly suffix: string }, allowedHosts: readonly string[]): string | undefined {
  const names = [...LOOPBACK_NAMES, ...allowedHosts.map(name => name.replace(/:\d+$/, ''))]
  const shared = names.find(name => name.endsWith(`.${suffix}`))
  return shared && `a host name of the console (${shared})`
}

function portOfConsole(
  { host, first, last }: { readonly host: string; readonly first: number; readonly last: number },
  port: number,
): string | undefined {
  if (LOOPBACK_NAMES.has(host)) return `the name ${host}, which is another computer for every browser`
  return port >= first && port <= last ? `the port of the console (${port})` : undefined
}

function listOf(text: string): string[] {
  return text
    .split(',')
    .map(entry => entry.trim().toLowerCase())
    .filter(entry => entry !== '')
}

function addressesOf(text: string): string[] {
  const addresses = listOf(text)
  const wrong = addresses.find(address => isIP(address) === 0)
  if (wrong === undefined) return addresses
  throw new AppError('config_invalid', { why: `BERTH_TRUSTED_PROXIES: "${wrong}" is not an IP address.` })
}

function readSecretFile(path: string | undefined): string | undefined {
  if (path === undefined) return undefined
  let secret: string
  try {
    secret = readFileSync(path, 'utf8').trim()
  } catch (error) {
    throw new AppError(
      'config_invalid',
      { why: `BERTH_CONSOLE_SECRET_FILE: ${path} cannot be read.` },
      { cause: error },
    )
  }
  if (secret.length >= 32) return secret
  throw new AppError('config_invalid', { why: `BERTH_CONSOLE_SECRET_FILE: ${path} must hold at least 32 characters.` })
}
