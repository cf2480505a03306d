import { type Command } from 'commander'
import { defined } from '#base/defined'
import { type ApiClient, AppError, choiceText, type Preset } from '#manager/contract'
import { connect } from '../config/connect.ts'
import { createOutput, table } from '../output.ts'
import { adminOf } from './admin.ts'
import { gpuChoiceOf, type GpuFlags, namesGpus, withGpuChoice } from './gpu-flags.ts'
import { namesSlots, type SlotFlags, slotsOf, withSlots } from './limit-flags.ts'
import { amounts, bytes } from './text.ts'

interface PresetFlags extends SlotFlags, GpuFlags {
  shm?: string
  json?: boolean
}

interface ListFlags {
  resourceGroup?: string
  project?: string
  fitting?: boolean
  json?: boolean
}

/** `berth preset ls` for everybody, `berth admin preset …` for superadmins. */
export function addPresetCommands(program: Command): void {
  const admin = adminOf(program)
  const preset = admin.command('preset').description('Sizes to choose from when a session is launched.')
  addList(program.command('preset').description('Sizes to choose from.').command('ls'))
  addList(preset.command('ls'))

  withSize(preset.command('create <name>')).action(async (name: string, { json = false, ...flags }: PresetFlags) => {
    const { api } = await connect()
    const body = { name, slots: slotsOf(flags), ...defined({ gpu: gpuChoiceOf(flags), shmem: flags.shm }) }
    const made = await api.createPreset({ body })
    createOutput(json).data(made, () => presetTable([made]))
  })

  withSize(
    preset.command('update <name>').description('Change a preset. Resources that you leave out stay; 0 removes one.'),
  ).action(async (name: string, { json = false, ...flags }: PresetFlags) => {
    const { api } = await connect()
    const before = namesSlots(flags) || namesGpus(flags) ? await find(api, name) : undefined
    const body = {
      ...(namesSlots(flags) ? { slots: slotsOf(flags, before?.slots) } : {}),
      ...(namesGpus(flags) ? { gpu: gpuChoiceOf(flags, before?.gpu ?? undefined) ?? null } : {}),
      ...defined({ shmem: flags.shm }),
    }
    const changed = await api.updatePreset({ params: { name }, body })
    createOutput(json).data(changed, () => presetTable([changed]))
  })

  preset.command('rm <name>').action(async (name: string) => {
    const { api } = await connect()
    await api.deletePreset({ params: { name } })
  })
}

async function find(api: ApiClient, name: string): Promise<Preset> {
  const { items } = await api.listPresets()
  const found = items.find(preset => preset.name.toLowerCase() === name.toLowerCase())
  if (!found) throw new AppError('preset_not_found', { name, why: `There is no preset "${name}".` })
  return found
}

function addList(command: Command): void {
  command
    .description('List the presets, and whether each fits now: within your limits and the free room of one host.')
    .option('--resource-group <name>', 'resource group')
    .option('--project <name>', 'project of the session')
    .option('--fitting', 'only presets that fit')
    .option('--json', 'print JSON')
    .action(async ({ resourceGroup, project, fitting = false, json = false }: ListFlags) => {
      const { api } = await connect()
      const where = defined({ resourceGroup, group: project })
      const { items } = await api.listPresets({ query: { ...where, ...(fitting ? { fitting: 'true' } : {}) } })
      const output = createOutput(json)
      if (!items.some(({ fits }) => fits)) {
        const { agents } = await api.getResources({ query: where })
        if (agents.connected === 0) output.note('No host is connected, so no preset fits now.')
      }
      output.data(items, () => presetTable(items))
    })
}

function withSize(command: Command): Command {
  return withGpuChoice(withSlots(command, false))
    .option('--shm <amount>', 'shared memory, part of --mem')
    .option('--json', 'print JSON')
}

const presetTable = (items: readonly Preset[]) =>
  table(
    ['NAME', 'RESOURCES', 'SHM', 'FITS'],
    items.map(one => [
      one.name,
      amounts(one.slots) + (one.gpu ? ` (${choiceText(one.gpu)})` : ''),
      one.shmem === null ? '–' : bytes(Number(one.shmem)),
      one.fits ? 'yes' : 'no',
    ]),
  )
