/** The parts of an image's configuration that an image made from a session keeps. */
export interface ImageSettings {
  /** `NAME=value` */
  readonly Env?: readonly string[] | null
  readonly Labels?: Readonly<Record<string, string>> | null
  readonly Entrypoint?: string | readonly string[] | null
  readonly Cmd?: readonly string[] | null
  readonly WorkingDir?: string | null
  readonly User?: string | null
  readonly ExposedPorts?: Readonly<Record<string, unknown>> | null
  readonly Volumes?: Readonly<Record<string, unknown>> | null
  readonly StopSignal?: string | null
}

/**
 * Instructions of a Dockerfile that give an imported image these settings, one a line, as the engine takes them. A variable whose value has
 * line breaks is left out, because no instruction can contain them; in labels a line break becomes a space.
 */
export function imageChanges(settings: ImageSettings): string {
  const { Env, Labels, Entrypoint, Cmd, WorkingDir, User, ExposedPorts, Volumes, StopSignal } = settings
  const variables = (Env ?? []).filter(line => /^[^=\s]+=[^\n\r]*$/.test(line))
  const volumes = Object.keys(Volumes ?? {})
  return [
    ...variables.map(line => `ENV ${line.slice(0, line.indexOf('='))}=${quoted(line.slice(line.indexOf('=') + 1))}`),
    ...Object.entries(Labels ?? {}).map(([name, value]) => `LABEL ${quoted(name)}=${quoted(oneLine(value))}`),
    ...command('ENTRYPOINT', [Entrypoint ?? []].flat()),
    ...command('CMD', Cmd ?? []),
    ...(WorkingDir ? [`WORKDIR ${escaped(WorkingDir)}`] : []),
    ...(User ? [`USER ${escaped(User)}`] : []),
    ...Object.keys(ExposedPorts ?? {}).map(port => `EXPOSE ${port}`),
    ...(volumes.length > 0 ? [`VOLUME ${JSON.stringify(volumes)}`] : []),
    ...(StopSignal ? [`STOPSIGNAL ${StopSignal}`] : []),
  ].join('\n')
}

const command = (instruction: string, words: readonly string[]) =>
  words.length > 0 ? [`${instruction} ${JSON.stringify(words)}`] : []
/** White space is read from its begin only, because an image may have a megabyte of it. */
const oneLine = (text: string) => text.replaceAll(/(?<!\s)\s*[\n\r]\s*/g, ' ')
/** Without a meaning for the engine, which replaces variables in the values of instructions. */
const escaped = (text: string) => text.replaceAll(/[\\$]/g, '\\$&')
const quoted = (text: string) => `"${text.replaceAll(/[\\"$]/g, '\\$&')}"`
