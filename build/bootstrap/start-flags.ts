export interface StartFlags {
  /** False with `--no-docker`: the console starts without sessions. */
  readonly docker: boolean
  readonly data: string | undefined
  /** True: the console is to open in a window. */
  readonly window: boolean
  /** All flags for `berth up`. */
  readonly rest: readonly string[]
}

/** Extracts the bootstrap's own flags; checks nothing, because `berth up` does. */
export function parseStartFlags(args: readonly string[]): StartFlags {
  const at = args.indexOf('--data')
  return {
    docker: !args.includes('--no-docker'),
    data: at >= 0 ? args[at + 1] : args.find(arg => arg.startsWith('--data='))?.slice('--data='.length),
    window: !['--no-open', '--browser', '--json'].some(flag => args.includes(flag)),
    rest: args.filter(arg => arg !== '--no-docker'),
  }
}
