import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { isAbsolute } from 'node:path'
import { z } from 'zod'
import { AppError, type AppsAddress, MOST_APP_PORTS, parseAppsAddress, StoragePaths } from '#manager/contract'

export interface ManagerConfig {
  readonly dataDir: string
  readonly host: string
  /** 0 = any free port. */
  readonly port: number
  /** True: `berth up` listens at the port, and hands over each connection. */
  readonly isPortHeld?: boolean
  readonly databaseUrl?: string | undefined
  /** URL at which agents reach this manager, for several managers on one database; default `http://127.0.0.1:PORT`. */
  readonly advertiseUrl?: string | undefined
  /** File with the key for secrets in the database; default DATA/master.key, created by the first start. */
  readonly masterKeyFile?: string | undefined
  /** Password of the first superadmin, used on the first start only; checked on every start. */
  readonly adminPassword?: string | undefined
  /** Names besides localhost under which clients reach this server. */
  readonly allowedHosts: readonly string[]
  /** Addresses of reverse proxies directly in front; their `x-forwarded-*` fields are trusted. */
  readonly trustedProxies?: readonly string[] | undefined
  /** Address at which the console serves published apps; without it no app can be published. */
  readonly appsAddress?: AppsAddress | undefined
  /** Secret shared with the console, whose `x-forwarded-*` fields are trusted. */
  readonly consoleSecret?: string | undefined
  /** Bearer token that a scraper of `/metrics` sends. */
  readonly metricsToken?: string | undefined
  /** Directory of the backups that Berth makes; default DATA/backups. */
  readonly backupDirectory?: string | undefined
  /** Absolute directory of each storage host, by its name; default `local` at DATA/storage. */
  readonly storage?: ReadonlyMap<string, string> | undefined
  /** Space that agents keep free on a disk: writes into folders beside the manager's data leave twice as much. None if left out. */
  readonly floorBytes?: number | undefined
  /** Directory of Slurm's client commands, for resource groups with the engine Slurm; default: they are found by PATH. */
  readonly slurmCommands?: string | undefined
  /** Addresses of reverse proxies directly in front of the port for clients of Backend.AI; trusted there as `trustedProxies` are. */
  readonly backendAiProxies?: readonly string[] | undefined
  /** Interval at which Slurm is asked for its jobs, in seconds; default 5. */
  readonly slurmPollSeconds?: number | undefined
  readonly logLevel: string
}

const blankIsAbsent = <T extends z.ZodType>(schema: T) => z.preprocess(text => (text === '' ? undefined : text), schema)

function listOf(text: string): string[] {
  return text
    .split(',')
    .map(name => name.trim())
    .filter(Boolean)
}

const NO_DATA = 'must name the data directory'
const SHORT_SECRET = 'must have at least 32 characters'
const NO_POLL = 'must be a number of seconds from 1 to 3600'
const NO_FLOOR = 'must be a whole number of MiB'
const NO_PORT = 'must be a number from 0 to 65535'

const APPS_ADDRESS = `must look like https://*.apps.example.org or http://apps.example.org:20000-20099 (at most ${MOST_APP_PORTS} ports)`

const Environment = z.object({
  BERTH_DATA: z.string(NO_DATA).min(1, NO_DATA),
  BERTH_HOST: blankIsAbsent(z.string().default('127.0.0.1')),
  BERTH_PORT: blankIsAbsent(z.coerce.number(NO_PORT).int(NO_PORT).min(0, NO_PORT).max(65_535, NO_PORT).default(0)),
  BERTH_PORT_HELD: z.literal('1').optional(),
  DATABASE_URL: blankIsAbsent(z.string().optional()),
  BERTH_ADVERTISE_URL: blankIsAbsent(
    z
      .url({ protocol: /^https?$/, error: 'must look like https://manager-1.example.org:8443' })
      .transform(text => new URL(text).origin)
      .optional(),
  ),
  BERTH_MASTER_KEY_FILE: blankIsAbsent(z.string().optional()),
  BERTH_ADMIN_PASSWORD: z.string().optional(),
  BERTH_ALLOWED_HOSTS: z.string().default('').transform(listOf),
  BERTH_TRUSTED_PROXIES: z
    .string()
    .default('')
    .transform(listOf)
    .refine(addresses => addresses.every(address => isIP(address) !== 0), 'must be IP addresses, separated by commas'),
  BERTH_BACKEND_AI_PROXIES: z
    .string()
    .default('')
    .transform(listOf)
    .refine(addresses => addresses.every(address => isIP(address) !== 0), 'must be IP addresses, separated by commas'),
  BERTH_APPS_ADDRESS: blankIsAbsent(
    z
      .string()
      .transform((text, context) => {
        const address = parseAppsAddress(text)
        if (!address) context.addIssue(APPS_ADDRESS)
        return address
      })
      .optional(),
  ),
  BERTH_CONSOLE_SECRET: blankIsAbsent(z.string().min(32, SHORT_SECRET).optional()),
  BERTH_CONSOLE_SECRET_FILE: blankIsAbsent(z.string().optional()),
  BERTH_METRICS_TOKEN_FILE: blankIsAbsent(z.string().optional()),
  BERTH_BACKUPS: blankIsAbsent(z.string().optional()),
  BERTH_STORAGE: blankIsAbsent(StoragePaths.optional()),
  BERTH_AGENT_SCRATCH_FLOOR_MIB: blankIsAbsent(z.coerce.number(NO_FLOOR).int(NO_FLOOR).min(0, NO_FLOOR).default(1024)),
  BERTH_SLURM_COMMANDS: blankIsAbsent(z.string().refine(isAbsolute, 'must be an absolute path').optional()),
  BERTH_SLURM_POLL: blankIsAbsent(z.coerce.number(NO_POLL).int(NO_POLL).min(1, NO_POLL).max(3600, NO_POLL).optional()),
  BERTH_LOG: blankIsAbsent(z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']).default('info')),
})

/** @throws AppError `config_invalid` that names the variables */
export function readConfig(env: Readonly<Record<string, string | undefined>>): ManagerConfig {
  const parsed = Environment.safeParse(env)
  if (!parsed.success) {
    const why = parsed.error.issues.map(issue => `${issue.path.join('.')}: ${issue.message}`).join('; ')
    throw new AppError('config_invalid', { why })
  }
  const { data } = parsed
  return {
    dataDir: data.BERTH_DATA,
    host: data.BERTH_HOST,
    port: data.BERTH_PORT,
    isPortHeld: data.BERTH_PORT_HELD !== undefined,
    databaseUrl: data.DATABASE_URL,
    advertiseUrl: data.BERTH_ADVERTISE_URL,
    masterKeyFile: data.BERTH_MASTER_KEY_FILE,
    adminPassword: data.BERTH_ADMIN_PASSWORD,
    allowedHosts: data.BERTH_ALLOWED_HOSTS,
    trustedProxies: data.BERTH_TRUSTED_PROXIES,
    backendAiProxies: data.BERTH_BACKEND_AI_PROXIES,
    appsAddress: data.BERTH_APPS_ADDRESS,
    consoleSecret: data.BERTH_CONSOLE_SECRET ?? readSecretFile('BERTH_CONSOLE_SECRET_FILE', data),
    metricsToken: readSecretFile('BERTH_METRICS_TOKEN_FILE', data),
    backupDirectory: data.BERTH_BACKUPS,
    storage: data.BERTH_STORAGE,
    floorBytes: data.BERTH_AGENT_SCRATCH_FLOOR_MIB * 2 ** 20,
    slurmCommands: data.BERTH_SLURM_COMMANDS,
    slurmPollSeconds: data.BERTH_SLURM_POLL,
    logLevel: data.BERTH_LOG,
  }
}

type SecretFile = 'BERTH_CONSOLE_SECRET_FILE' | 'BERTH_METRICS_TOKEN_FILE'

/** @throws AppError `config_invalid` */
function readSecretFile(name: SecretFile, paths: Readonly<Partial<Record<SecretFile, string | undefined>>>) {
  const path = paths[name]
  if (path === undefined) return undefined
  let secret: string
  try {
    secret = readFileSync(path, 'utf8').trim()
  } catch (error) {
    throw new AppError('config_invalid', { why: `${name}: ${path} cannot be read.` }, { cause: error })
  }
  if (secret.length >= 32) return secret
  throw new AppError('config_invalid', { why: `${name}: ${path} ${SHORT_SECRET}.` })
}
