import { MOST_DRAGGED_BYTES, MOST_DRAGGED_FILES } from '#proxy/contract'
import { type Host } from '../../../host.ts'
import { type DraggedFiles } from './drag-files.ts'
import { type Entry } from '../../../data/files/files-client.ts'
import { t } from '../../../words/en/explorer.ts'

/** Files up to this total size are fetched at once: that takes less time than dragging them out of the window. */
const AT_ONCE_BYTES = 2 ** 20
const DROP_MS = 500

export interface DragOutDeps {
  readonly host: Pick<Host, 'isDesktop' | 'drag'>
  readonly tell: (text: string) => void
  readonly fail: (error: unknown) => void
}

/**
 * Drags files out of the window of the desktop app. A drag of the page offers no files to other programs, and a drag of the system only
 * files of this computer. So small files are fetched when their drag begins; larger ones are fetched when a drag has left the window, for
 * the next attempt. Drags within the page remain drags of the page, and fetch nothing.
 */
export function createDragOut({ host, tell, fail }: DragOutDeps) {
  /** Ids of fetched files, by their listed properties: a file that has changed is fetched again. */
  const ready = new Map<string, string>()
  const running = new Map<string, Promise<void>>()
  let latest: Drag | undefined
  /** The drag of the system that is in progress, or has just ended. */
  let own: Drag | undefined

  function fetchOnce({ key, files }: Drag): Promise<void> {
    if (ready.has(key)) return Promise.resolve()
    const there = running.get(key)
    if (there) return there
    const started = host.drag
      .fetch(files)
      .then(id => void ready.set(key, id))
      .finally(() => running.delete(key))
    running.set(key, started)
    return started
  }

  async function takeOver(drag: Drag): Promise<void> {
    const released = new AbortController()
    for (const type of ['pointerup', 'pointercancel'])
      addEventListener(type, () => released.abort(), { signal: released.signal, capture: true })
    try {
      await fetchOnce(drag)
      if (released.signal.aborted) {
        tell(t('dragReady', { count: drag.entries.length, name: drag.entries[0]?.name ?? '' }))
        return
      }
      own = drag
      // The next drag may have begun by then.
      const forget = () => {
        if (own === drag) own = undefined
      }
      const hasEnded = await host.drag.start(ready.get(drag.key) ?? '')
      // A drop on this page is a separate event, which follows. The page gets pointer moves once a drag is over.
      if (hasEnded) setTimeout(forget, DROP_MS)
      else addEventListener('pointermove', forget, { once: true })
    } catch (error) {
      own = undefined
      ready.delete(drag.key)
      fail(error)
    } finally {
      released.abort()
    }
  }

  return {
    /** @returns true if a drag of the system replaces that of the page */
    begin(
      event: Pick<DragEvent, 'preventDefault'>,
      files: DraggedFiles,
      listed: readonly (Entry | undefined)[],
    ): boolean {
      latest = undefined
      if (!host.isDesktop) return false
      const entries = listed.filter(entry => entry !== undefined)
      latest = {
        files,
        entries,
        key: JSON.stringify([files, entries.map(({ size, modifiedAt }) => [size, modifiedAt])]),
      }
      if (!canLeave(latest) || (bytesOf(latest) > AT_ONCE_BYTES && !ready.has(latest.key))) return false
      event.preventDefault()
      void takeOver(latest)
      return true
    },
    /** Call when a drag of the page has ended. If that was outside of the window, its files are fetched. */
    async end({
      dataTransfer,
      clientX,
      clientY,
    }: Pick<DragEvent, 'dataTransfer' | 'clientX' | 'clientY'>): Promise<void> {
      const drag = latest
      const isInside = clientX >= 0 && clientY >= 0 && clientX < innerWidth && clientY < innerHeight
      if (!drag || isInside || dataTransfer?.dropEffect !== 'none') return
      if (!canLeave(drag)) {
        tell(t('dragTooMuch', { most: MOST_DRAGGED_BYTES / 2 ** 20 }))
        return
      }
      const words = { count: drag.entries.length, name: drag.entries[0]?.name ?? '' }
      tell(t('dragFetching', words))
      try {
        await fetchOnce(drag)
        tell(t('dragReady', words))
      } catch (error) {
        fail(error)
      }
    },
    /** The files of this page that the present drag of the system carries. */
    carried: () => own?.files,
  }
}

interface Drag {
  readonly key: string
  readonly files: DraggedFiles
  readonly entries: readonly Entry[]
}

const bytesOf = ({ entries }: Drag) => entries.reduce((sum, { size }) => sum + size, 0)

function canLeave(drag: Drag): boolean {
  const { files, entries } = drag
  // An entry that is not loaded may be a directory.
  if (entries.length !== files.paths.length || entries.length > MOST_DRAGGED_FILES) return false
  return entries.every(({ kind }) => kind === 'file') && bytesOf(drag) <= MOST_DRAGGED_BYTES
}
