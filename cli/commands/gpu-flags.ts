import { type Command, InvalidArgumentError } from 'commander'
import { defined } from '#base/defined'
import { GpuChoice } from '#manager/contract'

/** Keyword that takes a choice back. */
const ANY = 'any'

export interface GpuFlags {
  gpuModel?: string
  gpuMemory?: string
  migProfile?: string
}

const KEYS = { model: 'gpuModel', memory: 'gpuMemory', migProfile: 'migProfile' } as const

/** Adds --gpu-model, --gpu-memory and --mig-profile. */
export function withGpuChoice(command: Command): Command {
  return command
    .option('--gpu-model <words>', 'only GPUs of this model, e.g. H100 (see `berth gpu ls`), or any', parse('model'))
    .option('--gpu-memory <amount>', 'only GPUs with at least this memory each, e.g. 40g, or any', parse('memory'))
    .option('--mig-profile <profile>', 'only MIG instances of this profile, e.g. 3g.20gb, or any', parse('migProfile'))
}

export const namesGpus = (flags: GpuFlags): boolean => Object.values(KEYS).some(flag => flags[flag] !== undefined)

/** The previous choice, with the values of the given flags; undefined for any GPU. */
export function gpuChoiceOf(flags: GpuFlags, before: GpuChoice = {}): GpuChoice | undefined {
  const of = (key: keyof typeof KEYS) => {
    const value = flags[KEYS[key]] ?? before[key]
    return value === ANY ? undefined : value
  }
  const choice = defined({ model: of('model'), memory: of('memory'), migProfile: of('migProfile') })
  return Object.keys(choice).length === 0 ? undefined : choice
}

/** Checks a value by the form of requests. */
function parse(key: keyof typeof KEYS): (text: string) => string {
  return text => {
    if (text === ANY) return text
    const { error } = GpuChoice.safeParse({ [key]: text })
    if (error) throw new InvalidArgumentError(`The value ${error.issues[0]?.message ?? 'cannot be understood'}.`)
    return text
  }
}
