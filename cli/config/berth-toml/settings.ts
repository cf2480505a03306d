import { isIP } from 'node:net'
import { z } from 'zod'
import { MOST_APP_PORTS, parseAppsAddress } from '#manager/contract'

export type ServerName = 'manager' | 'agent' | 'console'

export interface Setting {
  /** Dotted, as in the file and in docs/configuration.md. */
  readonly key: string
  readonly schema: z.ZodType
  /** Completes "it must be …". */
  readonly allowed: string
  /** Text of one line for `--help`; docs/configuration.md says more. */
  readonly meaning: string
  /** Environment variable that passes the value to the servers, and that overrides the file. */
  readonly variable: string
  /** Servers that get the value. */
  readonly servers: readonly ServerName[]
  /** The value is a path; relative paths start at the folder of the file. */
  readonly isPath?: boolean
  /** A list whose items may contain commas: the servers read it as JSON. */
  readonly isJson?: boolean
}

const text = z.string().min(1)
const CIDR = /^(\d{1,3}\.){3}\d{1,3}\/\d{1,2}$/
const isDatabaseUrl = (value: string) => URL.canParse(value) && /^postgres(ql)?:$/.test(new URL(value).protocol)

const LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const
const logLevel = (server: ServerName): Setting => ({
  key: `${server}.logLevel`,
  schema: z.enum(LEVELS),
  allowed: `one of ${LEVELS.join(', ')}`,
  meaning: `level of the log: ${LEVELS.join(', ')}; default info`,
  variable: 'BERTH_LOG',
  servers: [server],
})

const STORAGE_HOST = /^[a-z0-9-]{1,64}=\/.*$/

/** Every key of berth.toml. Each becomes an environment variable that a server reads: there is no key without effect. */
export const SETTINGS: readonly Setting[] = [
  {
    key: 'console.port',
    schema: z.int().min(0).max(65_535),
    allowed: 'a whole number from 0 to 65535 (0 = any free port)',
    meaning: 'port of the console, 0 = any free port; default 8400',
    variable: 'BERTH_PORT',
    servers: ['console'],
  },
  {
    key: 'console.host',
    schema: text,
    allowed: 'an address of this computer in quotes, like "127.0.0.1"',
    meaning: 'address that the console listens on; default loopback',
    variable: 'BERTH_HOST',
    servers: ['console'],
  },
  {
    key: 'console.allowedHosts',
    schema: z.array(text.regex(/^[^\s,/]+$/)),
    allowed: 'a list of host names without scheme, like ["berth.example.org"]',
    meaning: 'further host names of the console, separated by commas',
    variable: 'BERTH_ALLOWED_HOSTS',
    servers: ['console', 'manager'],
  },
  {
    key: 'console.trustedProxies',
    schema: z.array(z.string().refine(value => isIP(value) !== 0)),
    allowed: 'a list of IP addresses, like ["127.0.0.1"]',
    meaning: 'addresses of reverse proxies in front of the console, separated by commas',
    variable: 'BERTH_TRUSTED_PROXIES',
    servers: ['console'],
  },
  {
    key: 'console.appsAddress',
    schema: z.string().refine(value => parseAppsAddress(value) !== undefined),
    allowed: `like "https://*.apps.example.org" or "https://berth.example.org:20000-20099" (at most ${MOST_APP_PORTS} ports)`,
    meaning:
      'address of apps for browsers on other computers and for links, with a wildcard or a range of ports; default none',
    variable: 'BERTH_APPS_ADDRESS',
    servers: ['console', 'manager'],
  },
  {
    key: 'console.tls.mode',
    schema: z.enum(['on', 'off']),
    allowed: '"on" or "off"',
    meaning: 'on: https; default on with a certificate, or where other computers connect and no trusted proxy is named',
    variable: 'BERTH_TLS',
    servers: ['console'],
  },
  {
    key: 'console.tls.certificate',
    schema: text,
    allowed: 'the path of a PEM file',
    meaning: 'certificate, with those of its authorities; default one that Berth makes',
    variable: 'BERTH_TLS_CERTIFICATE',
    servers: ['console'],
    isPath: true,
  },
  {
    key: 'console.tls.key',
    schema: text,
    allowed: 'the path of a PEM file',
    meaning: 'key of the certificate, not encrypted',
    variable: 'BERTH_TLS_KEY',
    servers: ['console'],
    isPath: true,
  },
  {
    key: 'console.tls.acme',
    schema: z.union([z.enum(['letsencrypt', 'letsencrypt-staging']), z.url({ protocol: /^https$/ })]),
    allowed: '"letsencrypt", "letsencrypt-staging" or the https:// address of a directory',
    meaning: 'authority that issues certificates by ACME: letsencrypt, letsencrypt-staging or a URL',
    variable: 'BERTH_TLS_ACME',
    servers: ['console'],
  },
  {
    key: 'console.tls.acmeEmail',
    schema: z.email(),
    allowed: 'an e-mail address',
    meaning: 'address that the authority may write to',
    variable: 'BERTH_TLS_ACME_EMAIL',
    servers: ['console'],
  },
  {
    key: 'console.tls.dnsHook',
    schema: text,
    allowed: 'the path of a program',
    meaning: 'program that sets TXT records for the authority; needed for wildcards',
    variable: 'BERTH_TLS_DNS_HOOK',
    servers: ['console'],
    isPath: true,
  },
  {
    key: 'console.tls.httpPort',
    schema: z.int().min(1).max(65_535),
    allowed: 'a whole number from 1 to 65535',
    meaning: 'further port that sends browsers to https, such as 80; default none',
    variable: 'BERTH_HTTP_PORT',
    servers: ['console'],
  },
  {
    key: 'console.sshDirectory',
    schema: text,
    allowed: 'the path of a directory',
    meaning: 'where the SSH kit writes its configuration and keys; default ~/.ssh',
    variable: 'BERTH_SSH_DIR',
    servers: ['console'],
    isPath: true,
  },
  {
    key: 'console.localProof',
    schema: z.enum(['required', 'off']),
    allowed: '"required" or "off"',
    meaning: 'off: browsers on loopback do not have to prove that they run on this computer',
    variable: 'BERTH_LOCAL_PROOF',
    servers: ['console'],
  },
  {
    key: 'console.directPath',
    schema: z.enum(['on', 'off']),
    allowed: '"on" or "off"',
    meaning: 'off: bytes of apps on this computer go through manager and agent, like those of other hosts',
    variable: 'BERTH_DIRECT_PATH',
    servers: ['console'],
  },
  logLevel('console'),
  {
    key: 'manager.databaseUrl',
    schema: z.string().refine(isDatabaseUrl),
    allowed: 'like "postgresql://user:password@host/database"',
    meaning: 'external PostgreSQL instead of the embedded one: postgresql://…',
    variable: 'DATABASE_URL',
    servers: ['manager'],
  },
  {
    key: 'manager.advertiseUrl',
    schema: z.url({ protocol: /^https?$/ }),
    allowed: 'like "https://manager-1.example.org:8443"',
    meaning: 'address where agents and people reach Berth, such as https://berth.example.org',
    variable: 'BERTH_ADVERTISE_URL',
    servers: ['manager'],
  },
  {
    key: 'manager.metricsTokenFile',
    schema: text,
    allowed: 'the path of a file',
    meaning: 'file with the bearer token that opens /metrics',
    variable: 'BERTH_METRICS_TOKEN_FILE',
    servers: ['manager'],
    isPath: true,
  },
  {
    key: 'manager.slurmCommands',
    schema: text,
    allowed: 'the path of a directory',
    meaning: "directory of Slurm's commands (salloc, squeue, scancel, scontrol); default: by PATH",
    variable: 'BERTH_SLURM_COMMANDS',
    servers: ['manager'],
    isPath: true,
  },
  {
    key: 'manager.slurmPollSeconds',
    schema: z.int().min(1).max(3600),
    allowed: 'a whole number from 1 to 3600',
    meaning: 'how often Slurm is asked for its jobs; default 5',
    variable: 'BERTH_SLURM_POLL',
    servers: ['manager'],
  },
  logLevel('manager'),
  {
    key: 'manager.backendAiProxies',
    schema: z.array(z.string().refine(value => isIP(value) !== 0)),
    allowed: 'a list of IP addresses, like ["127.0.0.1"]',
    meaning: 'addresses of reverse proxies in front of the port for clients of Backend.AI, separated by commas',
    variable: 'BERTH_BACKEND_AI_PROXIES',
    servers: ['manager'],
  },
  {
    key: 'agent.name',
    schema: text.max(128),
    allowed: 'a text of 1 to 128 characters',
    meaning: 'name of the agent, shown to administrators; default the host name',
    variable: 'BERTH_AGENT_NAME',
    servers: ['agent'],
  },
  {
    key: 'agent.dockerHost',
    schema: z.string().regex(/^(unix:\/\/\/|tcp:\/\/)./),
    allowed: 'like "unix:///var/run/docker.sock" or "tcp://10.0.0.5:2375"',
    meaning: 'the Docker Engine; default unix:///var/run/docker.sock',
    variable: 'DOCKER_HOST',
    servers: ['agent'],
  },
  {
    key: 'agent.network.range',
    schema: z.string().regex(CIDR),
    allowed: 'an IPv4 range like "10.213.0.0/16"',
    meaning: 'network range from which each session gets a /28; default 10.213.0.0/16',
    variable: 'BERTH_AGENT_NETWORK_RANGE',
    servers: ['agent'],
  },
  {
    key: 'agent.network.deny',
    schema: z.array(z.string().regex(CIDR)),
    allowed: 'a list of IPv4 ranges like ["192.168.0.0/16"]',
    meaning: 'network ranges that sessions may not reach, separated by commas',
    variable: 'BERTH_AGENT_NETWORK_DENY',
    servers: ['agent'],
  },
  {
    key: 'agent.network.proxyPort',
    schema: z.int().min(1).max(65_535),
    allowed: 'a port from 1 to 65535',
    meaning: 'port, on their bridges, of the proxy of sessions with an allow list; default 8489',
    variable: 'BERTH_AGENT_PROXY_PORT',
    servers: ['agent'],
  },
  {
    key: 'agent.clusterAddress',
    schema: z.ipv4(),
    allowed: 'an IPv4 address of the host like "192.168.7.2"',
    meaning: 'address in a private network of the hosts, which then carries sessions over several hosts',
    variable: 'BERTH_AGENT_CLUSTER_ADDRESS',
    servers: ['agent'],
  },
  {
    key: 'agent.network.ahead',
    schema: z.int().min(0).max(8),
    allowed: 'a whole number from 0 to 8',
    meaning: 'empty networks kept ready for new sessions; default 2',
    variable: 'BERTH_AGENT_NETWORKS_AHEAD',
    servers: ['agent'],
  },
  {
    key: 'manager.backups',
    schema: text,
    allowed: 'the path of a directory',
    meaning: 'where the manager keeps the backups that it makes; default DATA/backups',
    variable: 'BERTH_BACKUPS',
    servers: ['manager'],
    isPath: true,
  },
  {
    key: 'storage.hosts',
    schema: z.array(z.string().regex(STORAGE_HOST)),
    allowed: 'a list of names with absolute paths, like ["local=/srv/berth"]',
    meaning: 'directories for folders, NAME=PATH by commas; default local=DATA/storage',
    variable: 'BERTH_STORAGE',
    servers: ['manager', 'agent'],
  },
  {
    key: 'agent.scratch.directory',
    schema: text,
    allowed: 'the path of a directory',
    meaning: 'homes of sessions; default DATA/agent/scratch',
    variable: 'BERTH_AGENT_SCRATCH',
    servers: ['agent'],
    isPath: true,
  },
  {
    key: 'agent.scratch.floorMib',
    schema: z.int().min(0).max(999_999_999),
    allowed: 'a whole number of MiB',
    meaning: 'free space below which new sessions are refused; folders leave twice as much; default 1024',
    variable: 'BERTH_AGENT_SCRATCH_FLOOR_MIB',
    servers: ['manager', 'agent'],
  },
  {
    key: 'agent.scratch.retentionSeconds',
    schema: z.int().min(0).max(999_999_999),
    allowed: 'a whole number of seconds',
    meaning: 'how long homes of ended sessions are kept; default 86400',
    variable: 'BERTH_AGENT_SCRATCH_RETENTION_S',
    servers: ['agent'],
  },
  {
    key: 'agent.scratch.homeLimitMib',
    schema: z.int().min(0).max(999_999_999),
    allowed: 'a whole number of MiB',
    meaning: "limit for a session's home, and for the files it writes elsewhere; default none",
    variable: 'BERTH_AGENT_HOME_LIMIT_MIB',
    servers: ['agent'],
  },
  {
    key: 'agent.scratch.homeFiles',
    schema: z.int().min(0).max(999_999_999),
    allowed: 'a whole number of files',
    meaning: 'the same limit in numbers of files and folders; default none',
    variable: 'BERTH_AGENT_HOME_FILES',
    servers: ['agent'],
  },
  {
    key: 'agent.logs.mib',
    schema: z.int().min(0).max(256),
    allowed: 'a whole number of MiB from 0 to 256',
    meaning: 'size of the log that is kept of each ended session; default 16',
    variable: 'BERTH_AGENT_LOG_MIB',
    servers: ['agent'],
  },
  {
    key: 'agent.emulated',
    schema: z.array(z.string().regex(/^[a-z0-9]{1,32}$/)).max(10),
    allowed: 'a list of architectures of images like ["arm64"]',
    meaning: 'architectures of images that the host runs with an emulator, separated by commas',
    variable: 'BERTH_AGENT_EMULATED',
    servers: ['agent'],
  },
  {
    key: 'agent.health.command',
    schema: z
      .array(z.string().max(4_096))
      .min(1)
      .max(64)
      .refine(([program = '']) => program.startsWith('/')),
    allowed: 'a list of words that begins with an absolute path, like ["/usr/local/bin/host-ok", "--quick"]',
    meaning: 'command that decides whether the host takes sessions, as a JSON list of words; default none',
    variable: 'BERTH_HEALTH_COMMAND',
    servers: ['agent'],
    isJson: true,
  },
  {
    key: 'agent.health.intervalSeconds',
    schema: z.int().min(15).max(86_400),
    allowed: 'a whole number of seconds from 15 to 86400',
    meaning: 'interval between runs of the health command; default 300',
    variable: 'BERTH_HEALTH_INTERVAL_S',
    servers: ['agent'],
  },
  {
    key: 'agent.health.timeoutSeconds',
    schema: z.int().min(1).max(60),
    allowed: 'a whole number of seconds from 1 to 60',
    meaning: 'time limit of the health command; default 10',
    variable: 'BERTH_HEALTH_TIMEOUT_S',
    servers: ['agent'],
  },
  {
    key: 'agent.gpu.shared',
    schema: z.array(z.string().regex(/^(all|(GPU|AMD)-[\w.:-]{1,64})$/)),
    allowed: 'a list of UUIDs of GPUs as `nvidia-smi -L` prints them, or ["all"]',
    meaning: 'UUIDs of GPUs that are shared at first, separated by commas, or all',
    variable: 'BERTH_GPU_SHARED',
    servers: ['agent'],
  },
  {
    key: 'agent.gpu.guard',
    schema: z.enum(['end', 'warn', 'off']),
    allowed: '"end", "warn" or "off"',
    meaning: 'what happens to sessions that use more GPU memory than their share: end (default), warn or off',
    variable: 'BERTH_GPU_GUARD',
    servers: ['agent'],
  },
  {
    key: 'agent.gpu.probeImage',
    schema: text,
    allowed: 'the name of an image with python3, like "berth/python:3.13"',
    meaning: 'image with python3 that tests whether memory limits of GPU shares are enforced',
    variable: 'BERTH_GPU_PROBE_IMAGE',
    servers: ['agent'],
  },
  {
    key: 'agent.simulatedGpus',
    schema: text,
    allowed: 'the path of a TOML file that describes GPUs',
    meaning: 'TOML file with simulated GPUs',
    variable: 'BERTH_SIMULATED_GPUS',
    servers: ['agent'],
    isPath: true,
  },
  {
    key: 'agent.toolboxImage',
    schema: text,
    allowed: 'the name of an image, like "berth/toolbox:latest"',
    meaning: 'image that provides terminal, SSH and SFTP; default berth/toolbox:latest',
    variable: 'BERTH_TOOLBOX_IMAGE',
    servers: ['agent'],
  },
  logLevel('agent'),
]
