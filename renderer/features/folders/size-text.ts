import { type Folder } from '#manager/contract'
import { formatBytes, formatDateTime } from '../../ui/format.ts'
import { t } from '../../words/en/folders.ts'

type Sized = Pick<Folder, 'usage' | 'limit' | 'fileLimit'>

/**
 * Size of a folder and number of its files, with their limits. Until the folder is counted, the size is a dash and the number of files is
 * empty, but limits are shown.
 */
export function sizeTexts({ usage, limit, fileLimit }: Sized): { readonly bytes: string; readonly files: string } {
  if (usage === null)
    return {
      bytes: limit === null ? '–' : t('limitOnly', { limit: formatBytes(limit.bytes) }),
      files: fileLimit === null ? '' : t('filesOnly', { count: fileLimit.files }),
    }
  const used = formatBytes(usage.bytes)
  const count = usage.files
  return {
    bytes: limit === null ? used : t('sizeOf', { used, limit: formatBytes(limit.bytes) }),
    files: fileLimit === null ? t('files', { count }) : t('filesOf', { count, limit: fileLimit.files }),
  }
}

/** Says when a folder was counted, and what its limits mean for sessions. */
export function sizeNote({ usage, limit, fileLimit }: Sized): string {
  const counted = usage === null ? [] : [t('measured', { time: formatDateTime(new Date(usage.measuredAt)) })]
  const limits = [limit, fileLimit].filter(one => one !== null)
  const limited = limits.length === 0 ? [] : [t(limits.every(one => one.enforced) ? 'limitEnforced' : 'limitSoft')]
  return [...counted, ...limited].join('. ')
}
