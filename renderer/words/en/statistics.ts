import { defineWords } from '../i18n.ts'

const en = {
  statistics: 'Statistics',
  whose: 'Whose sessions',
  mine: 'My sessions',
  project: 'Project {name}',
  all: 'All sessions',
  period: 'Period',
  days: 'By day',
  weeks: 'By week',
  asTable: 'Show as table',
  asChart: 'Show as chart',
  exportCsv: 'Export as CSV',
  loading: 'Loading the statistics',
  none: 'No session ran in this time',
  noneText: 'The statistics show what sessions held, by day or by week.',
  sessions: 'Sessions',
  cpuHours: 'CPU core-hours',
  memHours: 'Memory, GiB-hours',
  gpuHours: 'GPU-hours',
  idle: 'Idle CPU',
  idleGpu: 'Idle GPUs',
  idleMemory: 'Idle memory',
  disks: 'Disks',
  network: 'Network',
  read: 'Read',
  written: 'Written',
  received: 'Received',
  sent: 'Sent',
  idleShare: 'Share not used',
  held: 'Held',
  begin: 'Begin',
  totals:
    'Most at once: {sessions, plural, one {# session} other {# sessions}} · {cpu} core-hours · {gpu, select, 0 {no GPU} other {{gpu} GPU-hours}}',
  howCounted:
    'A session counts with all that it holds while it runs, used or not. Idle CPU and GPUs compare that with what was used. What was used, read and sent counts evenly over the running time of a session.',
} as const

export default en
export const t = defineWords('statistics', en)
