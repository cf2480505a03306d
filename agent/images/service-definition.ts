import { z } from 'zod'
import { type AppOptions } from '#manager/contract'
import { chooseOptions } from './app-options.ts'

/**
 * Definition of how a service starts in an image made for Backend.AI: `/etc/backend.ai/service-defs/<service>.json`. It comes
 * with the image, like the image's programs: it runs in the container, as the session's user, with no more rights than they
 * have.
 *
 * @see https://github.com/lablup/backend.ai (kernel runner: service.py, service_actions.py)
 */
export const ServiceDefinition = z.object({
  command: z.array(z.string()).default([]),
  /** True if the service starts by itself: the agent runs no command. */
  noop: z.boolean().default(false),
  env: z.record(z.string(), z.string()).default({}),
  prestart: z
    .array(
      z.object({
        action: z.string(),
        args: z.record(z.string(), z.unknown()).default({}),
        ref: z.string().nullish(),
      }),
    )
    .default([]),
  default_arguments: z.record(z.string(), z.union([z.string(), z.array(z.string()), z.null()])).default({}),
  allowed_arguments: z.array(z.string()).default([]),
  allowed_envs: z.array(z.string()).default([]),
})
export type ServiceDefinition = z.infer<typeof ServiceDefinition>

export interface ServiceValues {
  readonly ports: readonly number[]
  /** Interpreter of the image, from its label `ai.backend.runtime-path`. */
  readonly runtimePath: string | undefined
  /** Arguments and variables of the user; templates in them are not filled in. */
  readonly options?: AppOptions | undefined
}

export interface ServiceCommand {
  readonly command: readonly string[]
  readonly environ: Readonly<Record<string, string>>
}

/** The message names the service and the part of its definition that is not supported. */
export class DefinitionError extends Error {}

const BUSYBOX = '/opt/berth/bin/busybox'
/** Directory of temporary files; it is below the session's home, because an image need not have a /tmp. */
const FILES = '/home/work/.cache/berth'

/**
 * Translates a definition into one command: a script for the toolbox's shell, with the preparations and then the service. Pure.
 * @throws DefinitionError; AppError `app_option_refused`
 */
export function toServiceCommand(name: string, definition: ServiceDefinition, values: ServiceValues): ServiceCommand {
  const variables: Variables = { ports: values.ports, texts: new Map() }
  if (values.runtimePath !== undefined) variables.texts.set('runtime_path', values.runtimePath)
  if (definition.noop || definition.command.length === 0) return { command: [], environ: {} }
  const steps = definition.prestart.map((step, index) => {
    const file = `${FILES}/${name}-${index}.py`
    if (step.action === 'write_tempfile' && step.ref) variables.texts.set(step.ref, file)
    return prepare(step.action, step.args, variables, file)
  })
  const allowed = {
    arguments: definition.allowed_arguments,
    environment: definition.allowed_envs,
    defaults: definition.default_arguments,
  }
  const chosen = chooseOptions(name, allowed, values.options)
  const words = [...[...definition.command, ...chosen.defaults].map(word => fill(word, variables)), ...chosen.words]
  const script = ['set -e', ...steps.flat(), `exec ${words.map(quote).join(' ')}`].join('\n')
  const environ = Object.entries(definition.env).map(([key, value]) => [fill(key, variables), fill(value, variables)])
  return {
    command: [BUSYBOX, 'sh', '-c', script],
    environ: { ...(Object.fromEntries(environ) as Record<string, string>), ...chosen.environment },
  }
}

interface Variables {
  readonly ports: readonly number[]
  readonly texts: Map<string, string>
}

const FileArgs = z.object({
  filename: z.string().optional(),
  body: z.union([z.string(), z.array(z.string())]).transform(body => [body].flat()),
  mode: z
    .string()
    .regex(/^[0-7]{3,4}$/)
    .default('755'),
  append: z.boolean().default(false),
})

function prepare(action: string, args: Record<string, unknown>, variables: Variables, file: string): string[] {
  switch (action) {
    case 'mkdir': {
      const { path } = parse(z.object({ path: z.string() }), args, action)
      return [`${BUSYBOX} mkdir -p ${quote(fill(path, variables))}`]
    }
    case 'write_file':
    case 'write_tempfile': {
      const { filename, body, mode, append } = parse(FileArgs, args, action)
      if (action === 'write_file' && filename === undefined) throw new DefinitionError('write_file names no file')
      const path = action === 'write_file' ? fill(filename ?? '', variables) : file
      // As in Backend.AI: `write_file` ends lines with a line break, `write_tempfile` does not.
      const format = action === 'write_file' ? '%s\\n' : '%s'
      const lines = body.map(line => quote(fill(line, variables))).join(' ')
      return [
        `${BUSYBOX} mkdir -p "$(${BUSYBOX} dirname ${quote(path)})"`,
        `printf '${format}' ${lines || "''"} ${append ? '>>' : '>'} ${quote(path)}`,
        `${BUSYBOX} chmod ${mode} ${quote(path)}`,
      ]
    }
    case 'run_command': {
      const { command } = parse(z.object({ command: z.array(z.string()).min(1) }), args, action)
      // As in Backend.AI: a failed command does not stop the service.
      return [`${command.map(word => quote(fill(word, variables))).join(' ')} || true`]
    }
    case 'log':
      return []
    default:
      throw new DefinitionError(`the unknown action "${action}"`)
  }
}

function parse<T extends z.ZodType>(schema: T, args: unknown, action: string): z.output<T> {
  const parsed = schema.safeParse(args)
  if (!parsed.success) throw new DefinitionError(`the arguments of "${action}" cannot be read`)
  return parsed.data
}

/** Python's `str.format_map`, as far as definitions use it: `{name}`, `{ports[0]}`, `{{` and `}}`. */
function fill(text: string, { ports, texts }: Variables): string {
  return text.replace(/\{\{|\}\}|\{([^{}]*)\}/g, (found, name?: string) => {
    if (name === undefined) return found.charAt(0)
    const index = /^ports\[(\d+)\]$/.exec(name)?.[1]
    const value = index === undefined ? texts.get(name) : ports[Number(index)]
    if (value === undefined) throw new DefinitionError(`the unknown variable "{${name}}"`)
    return String(value)
  })
}

/** Quotes a word for a POSIX shell. */
const quote = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`
