import { InvalidArgumentError } from 'commander'
import { FolderMountSpec } from '#manager/contract'

/** Parses `--folder NAME[:PATH][:ro]`, which may be repeated. */
export function collectFolder(text: string, all: FolderMountSpec[] = []): FolderMountSpec[] {
  const [folder = '', ...rest] = text.split(':')
  const readOnly = rest.at(-1) === 'ro'
  const paths = readOnly ? rest.slice(0, -1) : rest
  const parsed = FolderMountSpec.safeParse({
    folder,
    ...(paths.length === 0 ? {} : { path: paths.join(':') }),
    ...(readOnly ? { readOnly } : {}),
  })
  if (parsed.success) return [...all, parsed.data]
  throw new InvalidArgumentError('It must be NAME, NAME:PATH or NAME:PATH:ro, with a PATH below /home/work.')
}
