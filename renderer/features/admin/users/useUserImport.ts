import { computed, ref, shallowRef } from 'vue'
import {
  MAX_IMPORT_ROWS,
  type UserImportOutcome,
  type UserImportReply,
  type UserImportRow,
  userFileText,
  userImportRows,
} from '#manager/contract'
import { useServices } from '../../../services.ts'

/** Rows that the manager checks or creates per request; the page shows the progress in between. */
const BATCH = MAX_IMPORT_ROWS / 4
/** Largest number of rows: nobody waits for more in a dialog; the command line has no limit. */
export const MOST_ROWS = 5000

export type FileFault = 'encoding' | 'noColumn' | 'noRows' | 'tooManyRows'

/** An import of users: the file, the manager's findings in a dry run, and the outcomes. */
export function useUserImport() {
  const { api } = useServices()
  const rows = shallowRef<readonly UserImportRow[]>([])
  const fault = ref<FileFault | null>(null)
  /** Outcomes of the dry run, then of the import. */
  const outcomes = shallowRef<readonly UserImportOutcome[]>([])
  const done = ref(false)
  /** Number of rows that the manager has answered in the present step. */
  const progress = ref(0)
  const counts = computed(() => {
    const of = (wanted: UserImportOutcome['outcome']) => outcomes.value.filter(one => one.outcome === wanted).length
    return { created: of('created'), exists: of('exists'), refused: of('refused') }
  })

  /** Reads a CSV file and has every row checked. */
  async function read(bytes: Uint8Array): Promise<void> {
    rows.value = []
    outcomes.value = []
    const text = userFileText(bytes)
    if (text === undefined) {
      fault.value = 'encoding'
      return
    }
    const { default: Papa } = await import('papaparse')
    const found = userImportRows(Papa.parse<string[]>(text, { skipEmptyLines: 'greedy' }).data)
    fault.value = faultOf(found)
    if (!found || fault.value) return
    const checked = await send(found, { dryRun: true, mail: false })
    rows.value = found
    outcomes.value = checked
  }

  /** Creates the accounts that the dry run found good. */
  async function create(mail: boolean): Promise<void> {
    const made: UserImportOutcome[] = []
    try {
      await send(rows.value, { dryRun: false, mail }, items => made.push(...items))
    } finally {
      // Otherwise a failure in the middle would lose the links of the accounts that were created.
      if (made.length > 0) {
        outcomes.value = made
        done.value = true
      }
    }
  }

  async function send(
    all: readonly UserImportRow[],
    how: { readonly dryRun: boolean; readonly mail: boolean },
    answered: (items: UserImportReply['items']) => void = () => undefined,
  ): Promise<UserImportOutcome[]> {
    const items: UserImportOutcome[] = []
    progress.value = 0
    for (let first = 0; first < all.length; first += BATCH) {
      const reply = await api.importUsers({ body: { ...how, rows: all.slice(first, first + BATCH) } })
      items.push(...reply.items)
      answered(reply.items)
      progress.value = items.length / all.length
    }
    return items
  }

  return { rows, fault, outcomes, counts, done, progress, read, create }
}

function faultOf(rows: readonly UserImportRow[] | undefined): FileFault | null {
  if (!rows) return 'noColumn'
  if (rows.length === 0) return 'noRows'
  return rows.length > MOST_ROWS ? 'tooManyRows' : null
}
