import { type Folder } from '#manager/contract'
import { formatBytes, formatDateTime } from '../../ui/format.ts'
import { t } from '../../words/en/folders.ts'

type Sized = Pick<Folder, 'usage' | 'limit' | 'fileLimit'>

/**
 * Size of a folder and number of its files, with their limits. Until the folder is counted, the size is a dash and the number of files is
 * empty, but limits are shown. `soft` says that a limit is not enforced by the file system, and is empty otherwise.
 */
export function sizeTexts({ usage, limit, fileLimit }: Sized): {
  readonly bytes: string
  readonly files: string
  readonly soft: string
} {
  const soft = isSoft(limit) || isSoft(fileLimit) ? t('notEnforced') : ''
  if (usage === null)
    return {
      soft,
      bytes: limit === null ? '–' : t('limitOnly', { limit: formatBytes(limit.bytes) }),
      files: fileLimit === null ? '' : t('filesOnly', { count: fileLimit.files }),
    }
  const used = formatBytes(usage.bytes)
  const count = usage.files
  return {
    soft,
    bytes: limit === null ? used : t('sizeOf', { used, limit: formatBytes(limit.bytes) }),
    files: fileLimit === null ? t('files', { count }) : t('filesOf', { count, limit: fileLimit.files }),
  }
}

/** Says when a folder was counted, and what its limits mean for sessions. */
export function sizeNote({ usage, limit, fileLimit }: Sized): string {
  const counted = usage === null ? [] : [t('measured', { time: formatDateTime(new Date(usage.measuredAt)) })]
  const isLimited = limit !== null || fileLimit !== null
  const limited = isLimited ? [t(isSoft(limit) || isSoft(fileLimit) ? 'limitSoft' : 'limitEnforced')] : []
  return [...counted, ...limited].join('. ')
}

const isSoft = (limit: { readonly enforced: boolean } | null) => limit?.enforced === false
