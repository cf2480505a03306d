import { readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { locate } from './locate.ts'
import { environmentOf, NO_SETTINGS, parseSettings } from './parse.ts'
import { consoleHostsOf, consolePortOf, databaseUrlOf, readSettings } from './read.ts'
import { SETTINGS } from './settings.ts'

const FILE = '/etc/berth/berth.toml'
const faultsOf = (document: string): string[] => {
  try {
    parseSettings(document, FILE)
    return []
  } catch (error) {
    return (error as { detail: { why: string } }).detail.why.split('\n')
  }
}

const FULL = `
[console]
port = 8500
host = "0.0.0.0"
allowedHosts = ["a.example.org", "b.example.org"]
trustedProxies = ["127.0.0.1", "::1"]
appsAddress = "https://*.apps.example.org"
tls = { mode = "on", certificate = "cert.pem", key = "key.pem", httpPort = 80, acme = "letsencrypt", acmeEmail = "a@example.org", dnsHook = "hook" }
sshDirectory = "ssh"
localProof = "off"
directPath = "off"
logLevel = "debug"

[manager]
databaseUrl = "postgresql://u:p@h/d"
advertiseUrl = "https://m1.example.org"
metricsTokenFile = "metrics-token"
backups = "/mnt/backups"
slurmCommands = "/opt/slurm/bin"
slurmPollSeconds = 30
backendAiProxies = ["127.0.0.1"]
logLevel = "warn"

[storage]
hosts = ["local=/srv/berth", "far=/mnt/far"]

[agent]
name = "ws"
dockerHost = "unix:///run/docker.sock"
gpu.shared = ["GPU-1a", "GPU-2b"]
health.command = ["/usr/local/bin/host-ok", "a, b"]
health.intervalSeconds = 60
health.timeoutSeconds = 5
gpu.guard = "warn"
gpu.probeImage = "python:3"
simulatedGpus = "gpus.toml"
toolboxImage = "x:1"
logs.mib = 64
clusterAddress = "192.168.7.2"
emulated = ["arm64", "riscv64"]
logLevel = "error"
network = { range = "10.9.0.0/16", deny = ["10.0.0.0/8"], ahead = 3, proxyPort = 8490 }
scratch.directory = "/srv/scratch"
scratch.floorMib = 5
scratch.retentionSeconds = 0
scratch.homeLimitMib = 20480
scratch.homeFiles = 1000000
`

test('every key reaches its servers as the variable that they read', () => {
  const settings = parseSettings(FULL, FILE)
  expect(new Set(settings.values.keys())).toEqual(new Set(SETTINGS.map(setting => setting.key)))
  expect(environmentOf(settings, 'console', {})).toEqual({
    BERTH_PORT: '8500',
    BERTH_HOST: '0.0.0.0',
    BERTH_ALLOWED_HOSTS: 'a.example.org,b.example.org',
    BERTH_TRUSTED_PROXIES: '127.0.0.1,::1',
    BERTH_APPS_ADDRESS: 'https://*.apps.example.org',
    BERTH_TLS: 'on',
    BERTH_TLS_CERTIFICATE: '/etc/berth/cert.pem',
    BERTH_TLS_KEY: '/etc/berth/key.pem',
    BERTH_HTTP_PORT: '80',
    BERTH_TLS_ACME: 'letsencrypt',
    BERTH_TLS_ACME_EMAIL: 'a@example.org',
    BERTH_TLS_DNS_HOOK: '/etc/berth/hook',
    BERTH_SSH_DIR: '/etc/berth/ssh',
    BERTH_LOCAL_PROOF: 'off',
    BERTH_DIRECT_PATH: 'off',
    BERTH_LOG: 'debug',
  })
  expect(environmentOf(settings, 'manager', {})).toEqual({
    BERTH_ALLOWED_HOSTS: 'a.example.org,b.example.org',
    BERTH_APPS_ADDRESS: 'https://*.apps.example.org',
    DATABASE_URL: 'postgresql://u:p@h/d',
    BERTH_ADVERTISE_URL: 'https://m1.example.org',
    BERTH_METRICS_TOKEN_FILE: '/etc/berth/metrics-token',
    BERTH_BACKUPS: '/mnt/backups',
    BERTH_AGENT_SCRATCH_FLOOR_MIB: '5',
    BERTH_SLURM_COMMANDS: '/opt/slurm/bin',
    BERTH_SLURM_POLL: '30',
    BERTH_BACKEND_AI_PROXIES: '127.0.0.1',
    BERTH_STORAGE: 'local=/srv/berth,far=/mnt/far',
    BERTH_LOG: 'warn',
  })
  expect(environmentOf(settings, 'agent', {})).toEqual({
    BERTH_AGENT_NAME: 'ws',
    DOCKER_HOST: 'unix:///run/docker.sock',
    BERTH_AGENT_NETWORK_RANGE: '10.9.0.0/16',
    BERTH_AGENT_NETWORK_DENY: '10.0.0.0/8',
    BERTH_AGENT_NETWORKS_AHEAD: '3',
    BERTH_AGENT_PROXY_PORT: '8490',
    BERTH_AGENT_CLUSTER_ADDRESS: '192.168.7.2',
    BERTH_AGENT_SCRATCH: '/srv/scratch',
    BERTH_AGENT_SCRATCH_FLOOR_MIB: '5',
    BERTH_AGENT_SCRATCH_RETENTION_S: '0',
    BERTH_AGENT_HOME_LIMIT_MIB: '20480',
    BERTH_AGENT_HOME_FILES: '1000000',
    BERTH_HEALTH_COMMAND: '["/usr/local/bin/host-ok","a, b"]',
    BERTH_HEALTH_INTERVAL_S: '60',
    BERTH_HEALTH_TIMEOUT_S: '5',
    BERTH_GPU_SHARED: 'GPU-1a,GPU-2b',
    BERTH_GPU_GUARD: 'warn',
    BERTH_GPU_PROBE_IMAGE: 'python:3',
    BERTH_SIMULATED_GPUS: '/etc/berth/gpus.toml',
    BERTH_STORAGE: 'local=/srv/berth,far=/mnt/far',
    BERTH_TOOLBOX_IMAGE: 'x:1',
    BERTH_AGENT_LOG_MIB: '64',
    BERTH_AGENT_EMULATED: 'arm64,riscv64',
    BERTH_LOG: 'error',
  })
})

test('a set variable overrides the file, an empty one does not', () => {
  const settings = parseSettings(FULL, FILE)
  const environment = environmentOf(settings, 'agent', { BERTH_AGENT_NAME: 'other', BERTH_TOOLBOX_IMAGE: '' })
  expect(environment).not.toHaveProperty('BERTH_AGENT_NAME')
  expect(environment).toHaveProperty('BERTH_TOOLBOX_IMAGE', 'x:1')
  expect(databaseUrlOf(settings, {})).toBe('postgresql://u:p@h/d')
  expect(databaseUrlOf(settings, { DATABASE_URL: 'postgresql://e' })).toBe('postgresql://e')
})

test('the port comes from the flag, the variable, the file, or is 8400', () => {
  const settings = parseSettings('console.port = 0', FILE)
  expect(consolePortOf(settings, 1, { BERTH_PORT: '2' })).toBe(1)
  expect(consolePortOf(settings, undefined, { BERTH_PORT: '2' })).toBe(2)
  expect(consolePortOf(settings, undefined, {})).toBe(0)
  expect(consolePortOf(NO_SETTINGS, undefined, {})).toBe(8400)
  expect(() => consolePortOf(NO_SETTINGS, undefined, { BERTH_PORT: 'x' })).toThrow('BERTH_PORT is "x"')
})

test('all faults are reported together, with file, line, column, key and allowed values', () => {
  const document = '# c\n[console]\n  port = "x"\nprot = 1\n\n[agent]\nnetwork = 5\n[agent.scratch]\nfloorMib = 1.5\n'
  expect(faultsOf(document)).toEqual([
    `${FILE}:3:3: console.port must be a whole number from 0 to 65535 (0 = any free port)`,
    `${FILE}:4:1: console.prot is not known; allowed in [console]: port, host, allowedHosts, trustedProxies, appsAddress, tls, sshDirectory, localProof, directPath, logLevel`,
    `${FILE}:7:1: agent.network must be a table; allowed in [agent.network]: range, deny, proxyPort, ahead`,
    `${FILE}:9:1: agent.scratch.floorMib must be a whole number of MiB`,
  ])
})

test('invalid TOML is reported with its place', () => {
  expect(faultsOf('a = 1\n[b]\nx = foo')).toEqual([`${FILE}:3:5: this is not TOML: invalid value`])
})

test.each([
  ['[a.b]\n c = 1', ['a', 'b', 'c'], 2, 2],
  ['a.b.c = 1', ['a', 'b', 'c'], 1, 1],
  ['[x]\nc = 1\n[ a ]\n"b" . c = 2', ['a', 'b', 'c'], 4, 1],
  ['a = { b = 1 }', ['a', 'b'], 1, 1],
  ['t = """\nb = 1\n"""\nb = 2', ['b'], 4, 1],
  ['', ['b'], 1, 1],
])('the place of a key is found in %j', (document, path, line, column) => {
  expect(locate(document, path)).toEqual({ line, column })
})

test('a data directory without a file has no settings; a named file must exist', async () => {
  const data = await mkdtemp(join(tmpdir(), 'berth-test-'))
  try {
    expect(await readSettings(data)).toBe(NO_SETTINGS)
    await expect(readSettings(data, join(data, 'other.toml'))).rejects.toMatchObject({ code: 'config_invalid' })
    await writeFile(join(data, 'berth.toml'), 'agent.name = "here"')
    expect((await readSettings(data)).values.get('agent.name')).toBe('here')
  } finally {
    await rm(data, { recursive: true })
  }
})

test('docs/configuration.md has every key with its variable, and no other', () => {
  const page = readFileSync(join(import.meta.dirname, '../../../docs/configuration.md'), 'utf8')
  const rows = [...page.matchAll(/^\| `([a-z][\w.]*)` \| `(\w+)` \|/gm)].map(([, key, variable]) => [key, variable])
  expect(rows.toSorted()).toEqual(SETTINGS.map(({ key, variable }) => [key, variable]).toSorted())
})

test('the console listens at loopback, whatever other address is set', () => {
  expect(consoleHostsOf(parseSettings(FULL, FILE), {})).toEqual(['0.0.0.0', '127.0.0.1', '::1'])
  expect(consoleHostsOf(NO_SETTINGS, { BERTH_HOST: '192.0.2.7' })).toEqual(['192.0.2.7', '127.0.0.1', '::1'])
  expect(consoleHostsOf(NO_SETTINGS, { BERTH_HOST: 'localhost' })).toEqual(['127.0.0.1', '::1'])
})
