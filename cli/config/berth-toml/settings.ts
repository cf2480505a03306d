import { isIP } from 'node:net'
import { z } from 'zod'

export type ServerName = 'manager' | 'agent' | 'console'

export interface Setting {
  /** Dotted, as in the file and in docs/configuration.md. */
  readonly key: string
  readonly schema: z.ZodType
  /** Completes "it must be …". */
  readonly allowed: string
  /** The environment variable that carries it to the servers, and that wins over the file. */
  readonly variable: string
  /** Which of the servers get it. */
  readonly servers: readonly ServerName[]
  /** A path: relative ones start at the folder of the file. */
  readonly isPath?: boolean
}

const text = z.string().min(1)
const CIDR = /^(\d{1,3}\.){3}\d{1,3}\/\d{1,2}$/
const isDatabaseUrl = (value: string) => URL.canParse(value) && /^postgres(ql)?:$/.test(new URL(value).protocol)

const LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const
const logLevel = (server: ServerName): Setting => ({
  key: `${server}.logLevel`,
  schema: z.enum(LEVELS),
  allowed: `one of ${LEVELS.join(', ')}`,
  variable: 'BERTH_LOG',
  servers: [server],
})

/** Every key of berth.toml. Each one ends as an environment variable that a server reads: there is no key without effect. */
export const SETTINGS: readonly Setting[] = [
  {
    key: 'console.port',
    schema: z.int().min(0).max(65_535),
    allowed: 'a whole number from 0 to 65535 (0 = any free port)',
    variable: 'BERTH_PORT',
    servers: ['console'],
  },
  {
    key: 'console.host',
    schema: text,
    allowed: 'an address of this computer in quotes, like "127.0.0.1"',
    variable: 'BERTH_HOST',
    servers: ['console'],
  },
  {
    key: 'console.allowedHosts',
    schema: z.array(text.regex(/^[^\s,/]+$/)),
    allowed: 'a list of host names without scheme, like ["berth.example.org"]',
    variable: 'BERTH_ALLOWED_HOSTS',
    servers: ['console', 'manager'],
  },
  {
    key: 'console.trustedProxies',
    schema: z.array(z.string().refine(value => isIP(value) !== 0)),
    allowed: 'a list of IP addresses, like ["127.0.0.1"]',
    variable: 'BERTH_TRUSTED_PROXIES',
    servers: ['console'],
  },
  {
    key: 'console.sshDirectory',
    schema: text,
    allowed: 'the path of a directory',
    variable: 'BERTH_SSH_DIR',
    servers: ['console'],
    isPath: true,
  },
  {
    key: 'console.localProof',
    schema: z.enum(['required', 'off']),
    allowed: '"required" or "off"',
    variable: 'BERTH_LOCAL_PROOF',
    servers: ['console'],
  },
  logLevel('console'),
  {
    key: 'manager.databaseUrl',
    schema: z.string().refine(isDatabaseUrl),
    allowed: 'like "postgresql://user:password@host/database"',
    variable: 'DATABASE_URL',
    servers: ['manager'],
  },
  {
    key: 'manager.advertiseUrl',
    schema: z.url({ protocol: /^https?$/ }),
    allowed: 'like "https://manager-1.example.org:8443"',
    variable: 'BERTH_ADVERTISE_URL',
    servers: ['manager'],
  },
  {
    key: 'manager.metricsTokenFile',
    schema: text,
    allowed: 'the path of a file',
    variable: 'BERTH_METRICS_TOKEN_FILE',
    servers: ['manager'],
    isPath: true,
  },
  logLevel('manager'),
  {
    key: 'agent.name',
    schema: text.max(128),
    allowed: 'a text of 1 to 128 characters',
    variable: 'BERTH_AGENT_NAME',
    servers: ['agent'],
  },
  {
    key: 'agent.dockerHost',
    schema: z.string().regex(/^(unix:\/\/\/|tcp:\/\/)./),
    allowed: 'like "unix:///var/run/docker.sock" or "tcp://10.0.0.5:2375"',
    variable: 'DOCKER_HOST',
    servers: ['agent'],
  },
  {
    key: 'agent.network.range',
    schema: z.string().regex(CIDR),
    allowed: 'an IPv4 range like "10.213.0.0/16"',
    variable: 'BERTH_AGENT_NETWORK_RANGE',
    servers: ['agent'],
  },
  {
    key: 'agent.network.deny',
    schema: z.array(z.string().regex(CIDR)),
    allowed: 'a list of IPv4 ranges like ["192.168.0.0/16"]',
    variable: 'BERTH_AGENT_NETWORK_DENY',
    servers: ['agent'],
  },
  {
    key: 'agent.scratch.directory',
    schema: text,
    allowed: 'the path of a directory',
    variable: 'BERTH_AGENT_SCRATCH',
    servers: ['agent'],
    isPath: true,
  },
  {
    key: 'agent.scratch.floorMib',
    schema: z.int().min(0).max(999_999_999),
    allowed: 'a whole number of MiB',
    variable: 'BERTH_AGENT_SCRATCH_FLOOR_MIB',
    servers: ['agent'],
  },
  {
    key: 'agent.scratch.retentionSeconds',
    schema: z.int().min(0).max(999_999_999),
    allowed: 'a whole number of seconds',
    variable: 'BERTH_AGENT_SCRATCH_RETENTION_S',
    servers: ['agent'],
  },
  {
    key: 'agent.scratch.homeLimitMib',
    schema: z.int().min(0).max(999_999_999),
    allowed: 'a whole number of MiB',
    variable: 'BERTH_AGENT_HOME_LIMIT_MIB',
    servers: ['agent'],
  },
  {
    key: 'agent.scratch.homeFiles',
    schema: z.int().min(0).max(999_999_999),
    allowed: 'a whole number of files',
    variable: 'BERTH_AGENT_HOME_FILES',
    servers: ['agent'],
  },
  {
    key: 'agent.gpu.shared',
    schema: z.array(z.string().regex(/^(all|GPU-[\w-]{1,64})$/)),
    allowed: 'a list of UUIDs of GPUs as `nvidia-smi -L` prints them, or ["all"]',
    variable: 'BERTH_GPU_SHARED',
    servers: ['agent'],
  },
  {
    key: 'agent.gpu.probeImage',
    schema: text,
    allowed: 'the name of an image with python3, like "berth/python:3.13"',
    variable: 'BERTH_GPU_PROBE_IMAGE',
    servers: ['agent'],
  },
  {
    key: 'agent.simulatedGpus',
    schema: text,
    allowed: 'the path of a TOML file that describes GPUs',
    variable: 'BERTH_SIMULATED_GPUS',
    servers: ['agent'],
    isPath: true,
  },
  {
    key: 'agent.toolboxImage',
    schema: text,
    allowed: 'the name of an image, like "berth/toolbox:latest"',
    variable: 'BERTH_TOOLBOX_IMAGE',
    servers: ['agent'],
  },
  logLevel('agent'),
]
