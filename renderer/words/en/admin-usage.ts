import { defineWords } from '../i18n.ts'

const en = {
  usage: 'Usage',
  user: 'User',
  project: 'Project',
  domain: 'Domain',
  image: 'Image',
  agent: 'Agent',
  by: 'Add up by',
  by_user: 'By user',
  by_project: 'By project',
  by_domain: 'By domain',
  by_image: 'By image',
  by_agent: 'By agent',
  period: 'Period',
  lastDays: '{count, plural, one {The last day} other {The last # days}}',
  gpuHours: 'GPU-hours',
  cpuHours: 'Core-hours',
  memHours: 'GiB-hours',
  gpuUsed: 'GPU used',
  gpuWasted: 'Wasted GPU-hours',
  memUsed: 'RAM used',
  dates: 'From day to day…',
  fromDay: 'First day',
  toDay: 'Last day',
  sessions: 'Sessions',
  nothing: 'None',
  none: 'No session ran in this time',
  noneText: 'Hours count from the start of a session to its end, with all that it holds.',
  idleTitle: '{gpus} GPU held, and without work for {minutes} minutes or more',
  idleFacts: '{gpus} GPU · {hours} GPU-hours without work',
  idleFor: 'for {time}',
  moreOwners: '{count, plural, one {# more owner} other {# more owners}}',
  end: 'End…',
  endOf: 'End the sessions of {name}',
  remind: 'Remind',
  remindOf: 'Remind {name}',
  remindAll: '{count, plural, other {Remind all # owners}}',
  remindText:
    'Your session holds GPUs that do nothing now, while others may wait for them. Please end it if you do not need it.',

  // The month report
  monthReport: 'Month report',
  reportTitle: 'GPU use in {month}',
  month: 'Month',
  print: 'Print',
  exportCsv: 'Export as CSV',
  until: 'Until {time}',
  total: 'Together',
  cpuUsed: 'CPU used',
  partMeasured:
    'Only {measured} of the {all} GPU-hours have figures of use. What was wasted of the others is not known.',
  shown: 'The first {shown, number} of {all, number}. The CSV file has all.',
} as const

export default en
export const t = defineWords('admin-usage', en)
