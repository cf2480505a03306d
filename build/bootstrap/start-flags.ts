export interface StartFlags {
  /** False with `--no-docker`: the console starts without sessions. */
  readonly docker: boolean
  readonly data: string | undefined
  /** As given, not checked. */
  readonly port: string | undefined
  readonly config: string | undefined
  /** True: the console is to open in a window. */
  readonly window: boolean
  /** All flags for `berth up`. */
  readonly rest: readonly string[]
}

/** Extracts the bootstrap's own flags; checks nothing, because `berth up` does. */
export function parseStartFlags(args: readonly string[]): StartFlags {
  const valueOf = (flag: string) => {
    const at = args.indexOf(flag)
    return at >= 0 ? args[at + 1] : args.find(arg => arg.startsWith(`${flag}=`))?.slice(flag.length + 1)
  }
  return {
    docker: !args.includes('--no-docker'),
    data: valueOf('--data'),
    port: valueOf('--port'),
    config: valueOf('--config'),
    window: !['--no-open', '--browser', '--json'].some(flag => args.includes(flag)),
    rest: args.filter(arg => arg !== '--no-docker'),
  }
}
