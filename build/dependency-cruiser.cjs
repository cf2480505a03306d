/**
 * Direction rules of the code base: the folders that each folder may import. `tsc -b` proves each folder's environment,
 * this proves the direction (project references do not stop transitive imports).
 */
const SIDES = '(electron|renderer|proxy|manager|agent|cli)'
/** Contracts of other sides that each side may import. */
const READS = {
  renderer: 'proxy|manager',
  electron: 'proxy|manager',
  proxy: 'manager',
  manager: 'agent',
  agent: 'manager',
  cli: 'proxy|manager|agent',
}
/**
 * The folders of a side, from the ground up: a folder imports from those below it only. `no-cycles` sees files; folders could
 * still be tied into one knot.
 */
const FLOORS = {
  manager: [
    'contract',
    'mcp',
    'tunnel-end',
    'outgoing',
    'store',
    'secrets',
    'settings',
    'cluster',
    'events',
    'mail',
    'certificates',
    'users',
    'audit',
    'agent-link',
    'scheduler',
    'allocators',
    'tasks',
    'registries',
    'sso',
    'scim',
    'webhooks',
    'quotas',
    'storage',
    'folders',
    'files',
    'uploads',
    'images',
    'stats',
    'tunnels',
    'sftp',
    'sessions',
    'agents',
    'session-files',
    'grants',
    'usage',
    'diagnostics',
    'backup',
    'http',
    'operation',
    'wiring',
  ],
  agent: [
    'contract',
    'docker',
    'control',
    'program',
    'gpu',
    'stats',
    'limits',
    'network',
    'images',
    'commands',
    'tunnel',
    'toolbox',
    'storage',
    'faults',
    'kernel',
    'leaving',
    'wiring',
  ],
  // `ui` reads texts, and `words` nothing; a feature may show another one, in one direction (`no-cycles`, `features-in-one-direction`).
  renderer: ['words', 'api', 'ui', 'data', 'features', 'app'],
  'electron/main': [
    'questions',
    'credentials',
    'programs',
    'settings',
    'system',
    'faults',
    'security',
    'network',
    'updates',
    'windows',
    'console',
    'terminal',
    'files',
    'stack',
    'server',
    'ipc',
    'desktop',
  ],
}
const error = (name, from, to) => ({ name, severity: 'error', from, to })

module.exports = {
  forbidden: [
    error('no-cycles', {}, { circular: true }),
    error(
      'only-contracts-cross',
      { path: `^${SIDES}/`, pathNot: '[.]test[.]ts$' },
      {
        path: `^${SIDES}/`,
        pathNot: [
          '^$1/',
          '/contract/',
          '^proxy/(index|connect-app|certificates|listeners/loopback-listener|listeners/port-holder|network/index|network/listener-user|network/peer-uid|updates/index)[.]ts$',
          '^manager/(mcp|tunnel-end)/index[.]ts$',
        ],
      },
    ),
    error(
      'proxy-is-hosted',
      { path: `^${SIDES}/`, pathNot: ['^(electron/main|cli|proxy)/', '[.]test[.]ts$'] },
      {
        path: '^proxy/(index|connect-app|certificates|listeners/loopback-listener|listeners/port-holder|network/index|network/listener-user|network/peer-uid|updates/index)[.]ts$',
      },
    ),
    // The tools of programs are served by the manager over HTTP, and by the command line over its streams (ADR 98).
    error(
      'mcp-is-for-manager-and-cli',
      { path: `^${SIDES}/`, pathNot: ['^(manager|cli)/', '[.]test[.]ts$'] },
      { path: '^manager/mcp/' },
    ),
    error(
      'mcp-only-calls-the-api',
      { path: '^manager/mcp/', pathNot: '[.]test[.]ts$' },
      { pathNot: ['^(manager/(mcp|contract)|base)/', '^node_modules/'], dependencyTypesNot: ['core'] },
    ),
    // The state machine at each end of a tunnel is a library of the three processes along the tunnel (ADR 24).
    error(
      'tunnel-end-is-for-the-way-of-a-tunnel',
      { path: `^${SIDES}/`, pathNot: ['^(manager|agent|proxy)/', '[.]test[.]ts$'] },
      { path: '^manager/tunnel-end/' },
    ),
    error(
      'tunnel-end-is-given-its-sockets',
      // The tunnel as a stream of Node opens none either.
      { path: '^manager/tunnel-end/', pathNot: ['[.]test[.]ts$', '^manager/tunnel-end/tunnel-duplex[.]ts$'] },
      { pathNot: '^(manager/(tunnel-end|contract)|base)/' },
    ),
    ...Object.entries(READS).map(([side, may]) =>
      error(
        `${side}-reads`,
        { path: `^${side}/`, pathNot: '[.]test[.]ts$' },
        { path: '/contract/', pathNot: [`^(${side}|${may})/contract/`, '^node_modules/'] },
      ),
    ),
    ...Object.entries(FLOORS).flatMap(([side, floors]) =>
      floors.map((floor, height) =>
        error(
          `floors-of-${side}`,
          { path: `^${side}/${floor}/`, pathNot: '[.]test[.]ts$' },
          { path: `^${side}/[^/]+/`, pathNot: `^${side}/(${floors.slice(0, height + 1).join('|')})/` },
        ),
      ),
    ),
    {
      name: 'features-in-one-direction',
      severity: 'error',
      scope: 'folder',
      from: { path: '^renderer/features/[^/]+$' },
      to: { path: '^renderer/features/[^/]+$', circular: true },
    },
    error(
      'manager-contract-is-the-base',
      { path: '^manager/contract/', pathNot: '[.]test[.]ts$' },
      { path: '/contract/', pathNot: '^manager/contract/' },
    ),
    error(
      'contracts-are-pure',
      { path: '/contract/', pathNot: ['^node_modules/', '[.]test[.]ts$'] },
      { pathNot: ['/contract/', '^base/', '^node_modules/zod/'] },
    ),
    // Below all contracts: small general tools that promise nothing about a process, and run in each of them.
    error('base-imports-nothing', { path: '^base/', pathNot: '[.]test[.]ts$' }, { pathNot: '^base/' }),
    // zod would be a fifth of what a browser loads before the sign-in; the page checks received data with guards of manager/contract.
    error('renderer-has-no-zod', { path: '^renderer/', pathNot: '[.]test[.]ts$' }, { path: '^node_modules/zod/' }),
    error('renderer-is-a-web-page', { path: '^renderer/', pathNot: '[.]test[.]ts$' }, { dependencyTypes: ['core'] }),
    error(
      'renderer-has-no-host-libraries',
      { path: '^renderer/' },
      { path: '^node_modules/(electron|ssh2|ws|dockerode|pg)/' },
    ),
    error(
      'scheduler-is-pure',
      { path: '^manager/scheduler/plan/', pathNot: '[.]test[.]ts$' },
      { pathNot: '^(manager/(scheduler/plan|contract)|base)/' },
    ),
    error(
      'product-never-imports-tests',
      { path: `^(base|${SIDES.slice(1, -1)})/`, pathNot: '[.]test[.]ts$' },
      { path: '^test/|[.]test[.]ts$' },
    ),
  ],
  options: {
    tsPreCompilationDeps: true,
    doNotFollow: { path: 'node_modules' },
    enhancedResolveOptions: {
      extensions: ['.ts', '.js', '.vue', '.json'],
      conditionNames: ['import', 'types', 'default'],
      exportsFields: ['exports'],
    },
  },
}
