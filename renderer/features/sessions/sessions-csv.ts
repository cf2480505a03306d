import { type CsvColumn, csvOf, type CsvValue } from '#base/csv'
import { AppError, parseSlots, type Session } from '#manager/contract'
import { downloadFile } from '../../ui/download-file.ts'
import { t } from '../../words/en/sessions-csv.ts'
import { reasonText } from '../../data/sessions/reason-text.ts'
import { statusText } from '../../data/sessions/session-text.ts'
import { t as listWords } from '../../words/en/sessions.ts'

/** Columns of an exported file of sessions: amounts as plain numbers, times in UTC, for other programs. */
export function sessionCsvColumns(): readonly CsvColumn<Session>[] {
  const column = (label: string, value: (session: Session) => CsvValue): CsvColumn<Session> => ({ label, value })
  return [
    column(t('csvName'), ({ name }) => name),
    column(t('csvStatus'), session => statusText(session).label),
    column(t('csvReason'), ({ reason }) => reasonText(reason)),
    column(t('csvImage'), ({ image }) => image),
    column(t('csvProject'), ({ group }) => group?.name ?? null),
    column(listWords('resourceGroup'), session => session.resourceGroup),
    column(t('csvOwner'), session => session.ownerEmail),
    column(t('csvCpu'), session => amountsOf(session).cpu / 1000),
    column(t('csvMemory'), session => amountsOf(session).mem),
    column(t('csvGpu'), session => amountsOf(session).gpus),
    column(t('csvCreated'), ({ createdAt }) => createdAt),
    column(t('csvStarted'), ({ startedAt }) => startedAt),
    column(t('csvEnded'), ({ endedAt }) => endedAt),
    column(t('csvCpuSeconds'), ({ usage }) => usage?.cpuSeconds ?? null),
    column(t('csvGpuSeconds'), ({ usage }) => usage?.gpuSeconds ?? null),
    column(t('csvTags'), ({ tags }) => tags.join(' ')),
    column(t('csvNote'), ({ note }) => note),
    column(t('csvId'), ({ id }) => id),
  ]
}

function sessionsCsv(sessions: readonly Session[]): string {
  const columns = sessionCsvColumns()
  const rows = sessions.map(session => columns.map(({ value }) => value(session)))
  return csvOf([columns.map(({ label }) => label), ...rows])
}

/** Amounts of all kernels together, in base units. */
function amountsOf({ requested, clusterSize }: Session) {
  const { cpu = 0, mem = 0, 'cuda.device': gpus = 0, 'cuda.shares': shares = 0 } = parseSlots(requested)
  return { cpu: cpu * clusterSize, mem: mem * clusterSize, gpus: (gpus + shares / 100) * clusterSize }
}

/** A tab of the list; not all of its pages may be loaded. */
interface ListedTab {
  readonly name: string
  /** Loads the next page. */
  readonly more: () => Promise<unknown>
  readonly isComplete: () => boolean
  /** Number of loaded sessions. */
  readonly held: () => number
  /** The shown sessions among the loaded ones. */
  readonly shown: () => readonly Session[]
}

/** Saves the shown sessions of a tab as a file. Loads missing pages first. @throws AppError if a page does not arrive */
export async function exportSessions({ name, more, isComplete, held, shown }: ListedTab): Promise<void> {
  for (let before = -1; !isComplete();) {
    const now = held()
    if (now === before) throw new AppError('unavailable', { why: t('exportFailed') })
    before = now
    await more()
  }
  downloadFile({ fileName: `sessions-${name}.csv`, mediaType: 'text/csv', content: sessionsCsv(shown()) })
}
