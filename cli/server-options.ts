/**
 * Options of Node for our servers.
 *
 * The authorities that the operating system trusts count besides Node's own list: a laboratory's authority is rolled out there.
 *
 * A young generation may grow to three times 16 MiB by default: a burst of connections
 * makes it so, and it stays. With 4 MiB an idle tunnel costs a third less, and nothing is slower (docs/performance.md).
 */
export const SERVER_OPTIONS: readonly string[] = [
  '--disable-warning=ExperimentalWarning',
  '--max-semi-space-size=4',
  '--use-system-ca',
]
