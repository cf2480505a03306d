import { defineWords } from '../i18n.ts'

const en = {
  administration: 'Administration',
  notAllowed: 'This page is for administrators',
  forSuperadmins: 'Only superadmins may open it. Ask one of them, or go to another page.',
  forAdmins: 'Ask one of them, or go to another page.',

  // Lists
  search: 'Search',
  searchIn: 'Search in: {title}',
  exportCsv: 'Export as CSV',
  loading: 'Loading',
  noMatch: 'Nothing matches',
  noMatchText: 'No row has all these words and settings.',
  allHidden: 'Nothing active',
  allHiddenText: '{count, plural, one {# row is inactive and not shown.} other {# rows are inactive and not shown.}}',
  showAll: 'Show all',
  clearSearch: 'Clear search and filters',
  rowCount: '{count, plural, one {# row matches} other {# rows match}}',
  control: 'Control',
  state: 'State',
  anyState: 'Any state',
  active: 'Active',
  inactive: 'Inactive',
  name: 'Name',
  description: 'Description',
  created: 'Created',
  edit: 'Edit',
  editOf: 'Edit {name}',
  create: 'Create',
  delete: 'Delete',
  deleteOf: 'Delete {name}',
  undo: 'Undo',
  saved: '{name} saved.',
  createdNow: '{name} created.',
  deletedNow: '{name} deleted.',
  activate: 'Activate',
  activateOf: 'Activate {name}',
  deactivate: 'Deactivate',
  deactivateOf: 'Deactivate {name}',
  activatedNow: '{name} is active.',
  deactivatedNow: '{name} is deactivated.',
  alsoEnded: 'Also ended ones',

  // Fields
  gpuModel: 'GPU model',
  gpuModelHint: 'Words of its name, such as H100 or A100 80GB. Empty for any.',
  gpuModelFault: 'Enter words of the name of a GPU, such as H100.',
  gpuMemory: 'GPU memory, at least',
  gpuMemoryHint: 'Of each GPU, in GiB rounded up, such as 40g. Empty for any.',
  migProfile: 'MIG profile',
  migProfileHint: 'Only MIG instances of this profile, such as 3g.20gb.',
  migProfileFault: 'Enter a profile such as 3g.20gb.',
  unlimited: 'Unlimited',
  enterNumber: 'Enter a whole number',
  atLeast: 'At least {count, number}',
  atMost: 'At most {count, number}',
  enterDuration: 'Enter a time such as 90m, 2h or 7d',
  required: 'Fill in this field',

  // Selected rows of a list
  selectAll: 'Select all',
  selectOne: 'Select {name}',
  clearSelection: 'Clear the selection',
  selectedRows: '{count, plural, one {# selected} other {# selected}}',

  // Messages to owners of sessions
  message: 'Message',
  messageTitle: '{count, plural, one {Message to the owner of # session} other {Message to the owners of # sessions}}',
  messageText: 'Message',
  messageHint: 'The owners see it among their notifications, with your address. By mail too, if mail is set up.',
  messageEmpty: 'Write the message.',
  messageTooLong: 'At most {most, number} characters.',
  messageSend: 'Send',
  messageSent:
    '{count, plural, =0 {No session, so nobody got the message.} one {# owner got the message.} other {# owners got the message.}}',

  // Closing a resource group
  closeGroup: 'Pause this group',
  closeGroupTitle: 'Pause the resource group {name}?',
  closeGroupText: 'Nothing new starts in it, and sessions wait. Running sessions continue.',
  closeGroupNotice: 'Message for users (optional)',
  closeGroupHint: 'Shown with waiting sessions and where sessions are launched: why, and for how long.',
  openGroup: 'Open it again',
  groupOpened: 'Sessions start in {name} again.',
  groupPaused: 'Nothing starts in {name} now.',
} as const

export default en
export const t = defineWords('admin', en)
