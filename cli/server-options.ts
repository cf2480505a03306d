/**
 * Node options for our servers.
 *
 * The authorities that the operating system trusts count besides Node's own list: a laboratory distributes its own authority
 * there.
 *
 * By default a young generation may grow to three times 16 MiB: a burst of connections makes it grow, and it does not shrink.
 * With 4 MiB an idle tunnel costs a third less, and nothing is slower (`npm run bench -- tunnel http`).
 */
export const SERVER_OPTIONS: readonly string[] = [
  '--disable-warning=ExperimentalWarning',
  '--max-semi-space-size=4',
  '--use-system-ca',
]
