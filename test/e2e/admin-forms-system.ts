import { type FormRow, type } from './admin-forms.ts'
import { ADMIN_WORLD } from './admin-world.ts'
import { aSession } from './console-world.ts'

const WAITING = aSession(1, { status: 'PENDING', queuePosition: 1, reason: { code: 'capacity', message: 'Full' } })
const GROUP = ADMIN_WORLD.resourceGroups?.[0]

/** Settings, and the queue. */
export const SYSTEM_FORMS: readonly FormRow[] = [
  {
    title: 'changes a setting, and sends nothing else',
    page: 'settings',
    open: 'Edit Mail',
    fill: [type('Mail server', 'mail.example.org'), type('Password', 'secret')],
    submit: 'Save',
    sends: 'updateSettings',
    body: { smtpHost: 'mail.example.org', smtpPassword: 'secret' },
    says: 'Settings saved.',
  },
  {
    title: 'writes an announcement',
    page: 'settings',
    open: 'Edit Announcement',
    fill: [type('Text', 'Down on **Saturday**.')],
    submit: 'Save',
    sends: 'updateSettings',
    body: { announcement: 'Down on **Saturday**.' },
    says: 'Settings saved.',
  },
  {
    title: 'sends a test mail',
    page: 'settings',
    open: 'Send a test mail',
    fill: [type('To', 'ada@example.org')],
    submit: 'Send',
    sends: 'sendTestMail',
    body: { to: 'ada@example.org' },
    says: 'The mail server accepted a mail to ada@example.org.',
    admin: { settings: { mailReady: true } },
  },
  {
    title: 'pauses a resource group with a message',
    page: 'queue?group=default',
    open: 'Pause this group',
    fill: [type('Message for users (optional)', 'New disks until noon.')],
    submit: 'Pause this group',
    sends: 'updateResourceGroup',
    params: { name: 'default' },
    body: { active: false, notice: 'New disks until noon.' },
    reply: { ...GROUP, active: false, notice: 'New disks until noon.' },
    says: 'New disks until noon.',
  },
  {
    title: 'pauses all starts',
    page: 'queue',
    open: 'Pause all starts',
    submit: 'Pause all starts',
    sends: 'pauseScheduling',
    reply: { paused: 'admin' },
    says: 'No session starts now.',
  },
  {
    title: 'resumes all starts',
    page: 'maintenance',
    open: 'Resume starts',
    sends: 'resumeScheduling',
    reply: { paused: null },
    says: 'Sessions start again.',
    world: { replies: { 'GET /api/v1/scheduling': { status: 200, value: { paused: 'admin' } } } },
  },
  {
    title: 'raises the priority of a waiting session',
    page: 'queue',
    open: `Set the priority of ${WAITING.name}`,
    submit: 'Set the priority',
    sends: 'setSessionPriority',
    params: { id: WAITING.id },
    body: { priority: WAITING.priority },
    reply: WAITING,
    says: WAITING.name,
    world: { sessions: [WAITING] },
  },
]
