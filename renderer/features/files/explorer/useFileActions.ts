import { shallowRef, type ShallowRef } from 'vue'
import { type FolderId, MOST_PATHS } from '#manager/contract'
import { useCopy } from '../../../ui/useCopy.ts'
import { useNotifications } from '../../../ui/useNotifications.ts'
import {
  type ConflictAnswer,
  type ConflictQuestion,
  type PendingConflict,
  throughConflicts,
} from '../conflicts/conflicts.ts'
import { joinPath, isWithin, nameOf, parentOf, sessionPath } from '../../../data/files/file-path.ts'
import { type Copied, type FilesClient, type MoveSpec } from '../../../data/files/files-client.ts'
import { startDownload } from './start-download.ts'
import { selectOnly } from './selection.ts'
import { type Explorer } from './useExplorer.ts'
import { type ClippedFiles, useFileClipboard } from './useFileClipboard.ts'
import { t } from '../../../words/en/explorer.ts'

export interface FileActions {
  readonly conflict: Readonly<ShallowRef<PendingConflict | null>>
  /** Asks what to do about a name that exists. */
  askConflict(question: ConflictQuestion): Promise<ConflictAnswer | null>
  createDirectory(name: string): Promise<void>
  createFile(name: string): Promise<void>
  /** @throws AppError to show at the field of the name */
  rename(name: string, next: string): Promise<void>
  remove(files: DoomedFiles): Promise<void>
  /** Moves or copies into a directory, also from another folder, and asks about conflicts. Failures are notifications. */
  transfer(mode: 'copy' | 'move', files: FilesOf, to: string): Promise<void>
  clip(mode: 'copy' | 'move', names: readonly string[]): void
  paste(): Promise<void>
  download(names: readonly string[]): Promise<void>
  copySessionPath(name: string | null): Promise<void>
}

/** Files of one folder. */
export type FilesOf = Pick<ClippedFiles, 'folderId' | 'paths'>

/** Files that a question is about. They do not change, whatever directory or folder the page shows meanwhile. */
export interface DoomedFiles extends Pick<FilesOf, 'paths'> {
  readonly client: Pick<FilesClient, 'remove'>
  readonly names: readonly string[]
}

/** Actions of users on the files of the explorer's directory. */
export function useFileActions(explorer: Explorer): FileActions {
  const notifications = useNotifications()
  const clipboard = useFileClipboard()
  const copyText = useCopy()
  const conflict = shallowRef<PendingConflict | null>(null)
  const pathOf = (name: string) => joinPath(explorer.path.value, name)
  const directoryName = (path: string) => (path === '' ? (explorer.folder.value?.name ?? '') : nameOf(path))

  const askConflict = (question: ConflictQuestion) =>
    new Promise<ConflictAnswer | null>(resolve => {
      conflict.value = {
        ...question,
        answer(answer) {
          conflict.value = null
          resolve(answer)
        },
      }
    })

  /** Sends one request. */
  function sending(mode: 'copy' | 'move', from: FolderId): (spec: MoveSpec) => Promise<Copied> {
    const client = explorer.client.value
    if (from !== explorer.folderId.value) return spec => client.bring(from, mode, spec)
    if (mode === 'copy') return spec => client.copy(spec)
    return spec => client.move(spec).then(() => ({ task: null }))
  }

  /** Reports files that a copy left out. @returns whether the copy continues as a task */
  function isContinued({ task, leftOut }: Copied): boolean {
    if (leftOut) notifications.info(t('copyLacks', { count: leftOut.total, name: leftOut.paths[0] ?? '' }))
    return task !== null
  }

  /** @returns true if everything is done; false if the user cancelled, or a task continues */
  async function withConflicts(mode: 'copy' | 'move', { folderId, paths }: FilesOf, to: string): Promise<boolean> {
    const send = sending(mode, folderId)
    const tasks: unknown[] = []
    const isDone = await throughConflicts(
      paths,
      async (some, onConflict) => {
        const sent = await send({ paths: some, to, onConflict })
        if (isContinued(sent)) tasks.push(sent.task)
      },
      askConflict,
    )
    if (tasks.length > 0) notifications.info(t(mode === 'move' ? 'moveContinues' : 'copyContinues'))
    return isDone && tasks.length === 0
  }

  async function transfer(mode: 'copy' | 'move', { folderId, paths }: FilesOf, to: string): Promise<void> {
    const isHere = folderId === explorer.folderId.value
    const isIn = (path: string) => isHere && parentOf(path) === to
    if (isHere && paths.some(path => isWithin(to, path))) {
      notifications.info(t('intoItself'))
      return
    }
    const moving = mode === 'move' ? paths.filter(path => !isIn(path)) : paths
    if (moving.length === 0) return
    try {
      const isCopyInPlace = mode === 'copy' && moving.every(isIn)
      const isDone = isCopyInPlace
        ? !isContinued(await explorer.client.value.copy({ paths: moving, to, onConflict: 'rename' }))
        : await withConflicts(mode, { folderId, paths: moving }, to)
      if (isDone)
        notifications.success(
          t(mode === 'move' ? 'moved' : 'copied', { count: moving.length, name: directoryName(to) }),
        )
    } catch (error) {
      notifications.error(error)
    } finally {
      await explorer.refresh()
    }
  }

  async function show(name: string): Promise<void> {
    await explorer.refresh()
    explorer.selection.value = selectOnly(name)
  }

  return {
    conflict,
    askConflict,
    transfer,
    async createDirectory(name) {
      await explorer.client.value.createDirectory(pathOf(name))
      await show(name)
    },
    async createFile(name) {
      await explorer.client.value.write(pathOf(name), '', null)
      await show(name)
      // This replaces the dialog that asked for the name.
      await explorer.setView({ open: name })
    },
    async rename(name, next) {
      const spec = { paths: [pathOf(name)], to: explorer.path.value, name: next, onConflict: 'fail' } as const
      await explorer.client.value.move(spec)
      await show(next)
    },
    async remove({ client, paths }) {
      await client.remove(paths)
      notifications.success(t('deleted', { count: paths.length }))
      await explorer.refresh()
    },
    clip(mode, names) {
      if (names.length === 0) return
      clipboard.put({ folderId: explorer.folderId.value, paths: names.map(pathOf), mode })
      notifications.info(t(mode === 'move' ? 'cutDone' : 'copyDone', { count: names.length }))
    },
    async paste() {
      const files = clipboard.clipped
      if (!files) return
      if (files.mode === 'move') clipboard.clear()
      await transfer(files.mode, files, explorer.path.value)
    },
    async download(names) {
      if (names.length > MOST_PATHS) {
        notifications.info(t('tooManyToDownload', { most: MOST_PATHS }))
        return
      }
      try {
        startDownload(await explorer.client.value.downloadAddress(names.map(pathOf)))
      } catch (error) {
        notifications.error(error)
      }
    },
    async copySessionPath(name) {
      const path = sessionPath(explorer.folder.value?.name ?? '', name === null ? explorer.path.value : pathOf(name))
      if (await copyText(path)) notifications.success(t('pathCopied', { path }))
    },
  }
}
