import { defineWords } from '../i18n.ts'

const en = {
  csvName: 'Name',
  csvStatus: 'Status',
  csvReason: 'Reason',
  csvImage: 'Image',
  csvProject: 'Project',
  csvOwner: 'Owner',
  csvCpu: 'CPU cores',
  csvMemory: 'RAM (bytes)',
  csvGpu: 'GPUs',
  csvCreated: 'Requested',
  csvStarted: 'Started',
  csvEnded: 'Ended',
  csvCpuSeconds: 'CPU time (s)',
  csvGpuSeconds: 'GPU time (s)',
  csvTags: 'Tags',
  csvNote: 'Note',
  csvId: 'Id',
  exportFailed: 'Not all sessions could be loaded. The file was not made.',
} as const

export default en
export const t = defineWords('sessions-csv', en)
