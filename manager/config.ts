import { z } from 'zod'
import { AppError } from '#manager/contract'

export interface ManagerConfig {
  readonly dataDir: string
  readonly host: string
  /** 0 = any free one. */
  readonly port: number
  readonly databaseUrl?: string | undefined
  /** Where agents reach this manager, of several on one database; without it `http://127.0.0.1:PORT`. */
  readonly advertiseUrl?: string | undefined
  /** Key for secrets in the database; without it DATA/master.key, made by the first start. */
  readonly masterKeyFile?: string | undefined
  /** For the first superadmin, used on the first start only; checked on every start. */
  readonly adminPassword?: string | undefined
  /** Names besides localhost under which clients reach this server. */
  readonly allowedHosts: readonly string[]
  readonly logLevel: string
}

const blankIsAbsent = <T extends z.ZodType>(schema: T) => z.preprocess(text => (text === '' ? undefined : text), schema)

const NO_DATA = 'must name the data directory'
const NO_PORT = 'must be a number from 0 to 65535'

const Environment = z.object({
  BERTH_DATA: z.string(NO_DATA).min(1, NO_DATA),
  BERTH_HOST: blankIsAbsent(z.string().default('127.0.0.1')),
  BERTH_PORT: blankIsAbsent(z.coerce.number(NO_PORT).int(NO_PORT).min(0, NO_PORT).max(65_535, NO_PORT).default(0)),
  DATABASE_URL: blankIsAbsent(z.string().optional()),
  BERTH_ADVERTISE_URL: blankIsAbsent(
    z
      .url({ protocol: /^https?$/, error: 'must look like https://manager-1.example.org:8443' })
      .transform(text => new URL(text).origin)
      .optional(),
  ),
  BERTH_MASTER_KEY_FILE: blankIsAbsent(z.string().optional()),
  BERTH_ADMIN_PASSWORD: z.string().optional(),
  BERTH_ALLOWED_HOSTS: z
    .string()
    .default('')
    .transform(text =>
      text
        .split(',')
        .map(name => name.trim())
        .filter(Boolean),
    ),
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
    databaseUrl: data.DATABASE_URL,
    advertiseUrl: data.BERTH_ADVERTISE_URL,
    masterKeyFile: data.BERTH_MASTER_KEY_FILE,
    adminPassword: data.BERTH_ADMIN_PASSWORD,
    allowedHosts: data.BERTH_ALLOWED_HOSTS,
    logLevel: data.BERTH_LOG,
  }
}
