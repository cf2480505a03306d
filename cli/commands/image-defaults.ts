import { type Command } from 'commander'
import { defined } from '#base/defined'
import { type ApiClient, AppError, because, type FolderMountSpec, type ImageDefaults } from '#manager/contract'
import { connect } from '../config/connect.ts'
import { createOutput, table } from '../output.ts'
import { findFolder } from './find-folder.ts'
import { collectFolder } from './folder-flag.ts'
import { gpuChoiceOf, type GpuFlags, withGpuChoice } from './gpu-flags.ts'
import { parseAmountOf, type SlotFlags, slotsOf, withSlots } from './limit-flags.ts'
import { age, amounts } from './text.ts'
import { collectVariable } from './variable-flag.ts'

interface JsonFlag {
  json?: boolean
}
interface SetFlags extends SlotFlags, GpuFlags, JsonFlag {
  shm?: string
  env?: Record<string, string>
  folder?: FolderMountSpec[]
}

/** Adds `defaults ls|set|rm`: the user's own defaults for images. @param image the command `berth image` */
export function addImageDefaultsCommands(image: Command): void {
  const defaults = image
    .command('defaults')
    .description(
      'Your defaults for images. The launch dialog begins with them; so does `berth session create --defaults`.',
    )

  defaults
    .command('ls')
    .description('List your defaults.')
    .option('--json', 'print JSON')
    .action(async ({ json = false }: JsonFlag) => {
      const { api } = await connect()
      const { items } = await api.listImageDefaults()
      createOutput(json).data(items, () => defaultsTable(items))
    })

  withGpuChoice(
    withSlots(
      defaults
        .command('set <reference>')
        .description('Store your defaults for an image, in place of those that it has.'),
      false,
    ),
  )
    .option('--shm <amount>', 'shared memory, part of --mem', parseAmountOf('mem'))
    .option('--env <NAME=VALUE>', 'environment variable, may be repeated; 64 KiB in all', collectVariable)
    .option('--folder <NAME[:PATH][:ro]>', 'mount a folder, at PATH below /home/work; may be repeated', collectFolder)
    .option('--json', 'print JSON')
    .action(async (reference: string, { json = false, shm, env = {}, folder = [], ...slots }: SetFlags) => {
      const { api } = await connect()
      const folders: FolderMountSpec[] = []
      for (const mount of folder) folders.push({ ...mount, folder: (await findFolder(api, mount.folder)).id })
      const saved = await api.putImageDefaults({
        body: {
          image: reference,
          resources: slotsOf(slots),
          ...defined({ gpu: gpuChoiceOf(slots) }),
          environ: env,
          ...defined({ shmem: shm }),
          ...(folders.length === 0 ? {} : { folders }),
        },
      })
      createOutput(json).data(saved, () => defaultsTable([saved]))
    })

  defaults
    .command('rm <reference>')
    .description('Remove your defaults for an image.')
    .action(async (reference: string) => {
      const { api } = await connect()
      await api.deleteImageDefaults({ query: { image: reference } })
    })
}

/** @throws AppError `image_defaults_not_found` */
export async function findImageDefaults(api: ApiClient, image: string): Promise<ImageDefaults> {
  const { items } = await api.listImageDefaults()
  const found = items.find(each => each.image === image)
  if (!found) throw new AppError('image_defaults_not_found', because('image_defaults_unknown', { image }))
  return found
}

const defaultsTable = (items: readonly ImageDefaults[]) =>
  table(
    ['IMAGE', 'RESOURCES', 'SHM', 'VARIABLES', 'FOLDERS', 'AGE'],
    items.map(({ image, resources, shmem, environ, folders = [], changedAt }) => [
      image,
      amounts(resources),
      shmem === undefined ? '' : amounts({ mem: shmem }),
      Object.keys(environ).join(','),
      String(folders.length),
      age(changedAt),
    ]),
  )
