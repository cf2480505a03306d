import {
  type Folder,
  type FolderMountSpec,
  isPlainPath,
  mountPath,
  type Session,
  SESSION_HOME,
} from '#manager/contract'
import { t } from '../../words/en/folders.ts'

/** A folder that the new session is to mount. */
export interface FolderChoice {
  folder: Folder['id']
  name: string
  /** Path as typed, absolute or relative to the home of the session; empty for the name of the folder. */
  path: string
  readOnly: boolean
}

/** Largest number of folders of one session. */
const MOST = 50
const pathOf = ({ path, name }: FolderChoice) => mountPath(path.trim() || name)

export const choiceOf = ({ id, name, permission }: Folder): FolderChoice => ({
  folder: id,
  name,
  path: '',
  readOnly: permission === 'ro',
})

/** The folders of a session, for repeating it, including its dot-folders: the copy mounts them as the session did. */
export const choicesLike = ({ folders }: Session): FolderChoice[] =>
  folders.map(({ folderId, name, path, readOnly }) => {
    const relative = path.startsWith(`${SESSION_HOME}/`) ? path.slice(SESSION_HOME.length + 1) : path
    return { folder: folderId, name, path: relative === name ? '' : relative, readOnly }
  })

/** Validates one choice against all. @param known folders that can be mounted; null until loaded @returns the error text, or '' */
export function choiceFault(
  choice: FolderChoice,
  choices: readonly FolderChoice[],
  known: ReadonlySet<string> | null,
): string {
  if (known && !known.has(choice.folder)) return t('mountGone', { name: choice.name })
  const path = pathOf(choice)
  if (path === undefined) {
    const typed = choice.path.trim().replace(/\/+$/, '')
    return t(typed.startsWith('/') || !isPlainPath(typed) ? 'mountOutside' : 'mountReserved')
  }
  const other = choices.find(each => each.folder !== choice.folder && isNested(path, pathOf(each)))
  return other ? t('mountOverlap', { name: other.name }) : ''
}

function isNested(path: string, other: string | undefined): boolean {
  return other !== undefined && (`${path}/`.startsWith(`${other}/`) || `${other}/`.startsWith(`${path}/`))
}

/** The first mistake in the choices; empty if there is none. */
export function choicesFault(choices: readonly FolderChoice[], known: ReadonlySet<string> | null): string {
  if (choices.length > MOST) return t('mountMany', { most: MOST })
  for (const choice of choices) {
    const fault = choiceFault(choice, choices, known)
    if (fault) return fault
  }
  return ''
}

export function toMountSpecs(choices: readonly FolderChoice[]): FolderMountSpec[] {
  return choices.map(({ folder, path, readOnly }) => ({
    folder,
    ...(path.trim() === '' ? {} : { path: path.trim() }),
    ...(readOnly ? { readOnly } : {}),
  }))
}
