import { parseSlots, type Session } from '#manager/contract'
import { csvOf } from '../../ui/csv.ts'
import { downloadFile } from '../../ui/download-file.ts'
import { t } from './words.ts'
import { reasonText } from './reason-text.ts'
import { statusText } from './session-text.ts'

/** Sessions as CSV: amounts as plain numbers, times in UTC, so that programs read them. */
export function sessionsCsv(sessions: readonly Session[]): string {
  const head = [
    t('csvName'),
    t('csvStatus'),
    t('csvReason'),
    t('csvImage'),
    t('csvProject'),
    t('resourceGroup'),
    t('csvOwner'),
    t('csvCpu'),
    t('csvMemory'),
    t('csvGpu'),
    t('csvCreated'),
    t('csvStarted'),
    t('csvEnded'),
    t('csvCpuSeconds'),
    t('csvGpuSeconds'),
    t('csvTags'),
    t('csvNote'),
    t('csvId'),
  ]
  const rows = sessions.map(session => {
    const { label } = statusText(session)
    const { cpu = 0, mem = 0, 'cuda.device': gpus = 0, 'cuda.shares': shares = 0 } = parseSlots(session.requested)
    return [
      session.name,
      label,
      reasonText(session.reason),
      session.image,
      session.group?.name ?? null,
      session.resourceGroup,
      session.ownerEmail,
      (cpu / 1000) * session.clusterSize,
      mem * session.clusterSize,
      (gpus + shares / 100) * session.clusterSize,
      session.createdAt,
      session.startedAt,
      session.endedAt,
      session.usage?.cpuSeconds ?? null,
      session.usage?.gpuSeconds ?? null,
      session.tags.join(' '),
      session.note,
      session.id,
    ]
  })
  return csvOf([head, ...rows])
}

/** Saves the sessions of a tab as a file. */
export function downloadSessions(tab: string, sessions: readonly Session[]): void {
  downloadFile({ fileName: `sessions-${tab}.csv`, mediaType: 'text/csv', content: sessionsCsv(sessions) })
}
