import { defined } from '#base/defined'
import {
  type Folder,
  type Image,
  type ImageDefaults,
  type ImageDefaultsSpec,
  type SessionSpec,
} from '#manager/contract'
import { type LaunchForm } from './launch-form.ts'
import { formOf } from './repeated.ts'

/** The parts of the form that an image's defaults can set. */
const KEPT = ['cpu', 'mem', 'shmem', 'gpu', 'gpuChoice', 'environ', 'folders'] as const
type Kept = Pick<LaunchForm, (typeof KEPT)[number]>

/** The values that an image's defaults have set in the form, and the values before that. */
export interface AppliedDefaults {
  readonly before: Kept
  readonly after: Kept
}

const keptOf = (form: LaunchForm): Kept => {
  const { cpu, mem, shmem, gpu, gpuChoice, environ, folders } = form
  return { cpu, mem, shmem, gpu, gpuChoice, environ, folders }
}
const isSame = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b)

/** The stored defaults for an image, which may name it by an alias. */
export const defaultsFor = (image: Pick<Image, 'reference' | 'aliases'> | undefined, all: readonly ImageDefaults[]) =>
  all.find(each => each.image === image?.reference) ?? all.find(each => image?.aliases.includes(each.image))

/**
 * The form with the defaults applied. Amounts and folders that the defaults do not name are kept. @param folders that the user can mount,
 * by id
 */
export function withDefaults(
  form: LaunchForm,
  defaults: ImageDefaults,
  folders: ReadonlyMap<string, Pick<Folder, 'name'>>,
): LaunchForm {
  const { changedAt: _changedAt, ...settings } = defaults
  const stored = formOf({ ...settings, count: 1, resourceGroup: form.resourceGroup }, folders)
  const { resources, shmem } = defaults
  const namesGpu = resources['cuda.device'] !== undefined || resources['cuda.shares'] !== undefined
  return {
    ...form,
    ...(resources.cpu === undefined ? {} : { cpu: stored.cpu }),
    ...(resources.mem === undefined ? {} : { mem: stored.mem }),
    ...(namesGpu ? { gpu: stored.gpu, gpuChoice: stored.gpuChoice } : {}),
    ...(shmem === undefined ? {} : { shmem: stored.shmem }),
    environ: stored.environ,
    ...(defaults.folders === undefined ? {} : { folders: stored.folders }),
  }
}

/** Values of a form with which the defaults can be undone. @param before the form without them */
export const applied = (before: LaunchForm, after: LaunchForm): AppliedDefaults => ({
  before: keptOf(before),
  after: keptOf(after),
})

/** Undoes defaults in the form when another image is chosen; values that were edited since are kept. */
export function withoutDefaults(form: LaunchForm, { before, after }: AppliedDefaults): LaunchForm {
  const untouched = KEPT.filter(key => isSame(form[key], after[key]))
  return { ...form, ...Object.fromEntries(untouched.map(key => [key, before[key]])) }
}

/** The settings of a request as defaults of its image. An empty list of folders means that there are none. */
export function defaultsOf({ image, resources, gpu, shmem, environ, folders }: SessionSpec): ImageDefaultsSpec {
  return {
    image,
    resources,
    environ,
    ...defined({ gpu, shmem }),
    folders: folders ?? [],
  }
}
