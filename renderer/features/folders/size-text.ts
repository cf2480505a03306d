import { type Folder } from '#manager/contract'
import { formatBytes, formatDateTime } from '../../ui/format.ts'
import { t } from '../../words/en/folders.ts'

type Sized = Pick<Folder, 'usage' | 'limit' | 'fileLimit'>

/** Size of a folder and number of its files, with their limits; empty if none is known. */
export function sizeText({ usage, limit, fileLimit }: Sized): string {
  if (usage === null) {
    const size = limit === null ? [] : [t('limitOnly', { limit: formatBytes(limit.bytes) })]
    const files = fileLimit === null ? [] : [t('filesOnly', { count: fileLimit.files })]
    return [...size, ...files].join(', ')
  }
  const used = formatBytes(usage.bytes)
  const count = usage.files
  return [
    limit === null ? used : t('sizeOf', { used, limit: formatBytes(limit.bytes) }),
    fileLimit === null ? t('files', { count }) : t('filesOf', { count, limit: fileLimit.files }),
  ].join(', ')
}

/** When a folder was counted, and what its limits mean for sessions. */
export function sizeNote({ usage, limit, fileLimit }: Sized): string {
  const counted = usage === null ? [] : [t('measured', { time: formatDateTime(new Date(usage.measuredAt)) })]
  const limits = [limit, fileLimit].filter(one => one !== null)
  const limited = limits.length === 0 ? [] : [t(limits.every(one => one.enforced) ? 'limitEnforced' : 'limitSoft')]
  return [...counted, ...limited].join('. ')
}
