import { defineWords } from '../i18n.ts'

const en = {
  terminateTitle: 'Terminate “{name}”?',
  cancelTitle: 'Cancel “{name}”?',
  terminateCount: '{count, plural, one {Terminate # session?} other {Terminate # sessions?}}',
  cancelCount: '{count, plural, one {Cancel # session?} other {Cancel # sessions?}}',
  terminateLabel: '{count, plural, =1 {Terminate session} other {Terminate # sessions}}',
  cancelLabel: '{count, plural, =1 {Cancel session} other {Cancel # sessions}}',
  terminatingOne: 'Terminating {name}.',
  cancelledOne: 'Cancelled {name}.',
  terminatingMany: 'Terminating {count, number} sessions.',
  cancelledMany: 'Cancelled {count, number} sessions.',
  stillThere: '{failed, number} of {total, number} are still there: {names}.',
  ownersMore: '{owners} and {count, number} more',
  whyEnded: 'Reason for the owner (optional)',
  allForeign:
    '{count, plural, =1 {<b>This session belongs</b> to {owners}. Your address, {you}, is shown to the owner as the reason of the end.} other {<b>These sessions belong</b> to {owners}. Your address, {you}, is shown to the owner as the reason of the end.}}',
  someForeign:
    '<b>{count, number} of these sessions belong</b> to {owners}. Your address, {you}, is shown to the owner as the reason of the end.',
  stop: '{count, plural, =1 {Programs in it stop at once.} other {Programs in them stop at once.}}',
  foldersStay: '<b>Files in {names} stay.</b>',
  mountedStay: '<b>Files in mounted folders stay.</b>',
  noneMounted: '<b>No folder is mounted.</b>',
  homesKept:
    '{count, plural, =1 {The rest of its home is kept for about a day while there is room; everything else is deleted.} other {The rest of their homes is kept for about a day while there is room; everything else is deleted.}}',
  wholeHomesKept:
    '{count, plural, =1 {Its home is kept for about a day while there is room; everything else is deleted.} other {Their homes are kept for about a day while there is room; everything else is deleted.}}',
  someHomesKept:
    'Homes of sessions with one container are kept for about a day while there is room; everything else is deleted.',
  restDeleted: 'Everything else is deleted.',
  allDeleted: '<b>All files are deleted.</b>',
  copyFirst: 'Copy what you need first, for example with SFTP.',
  nothingLost:
    '{count, plural, =1 {The session has not started, so nothing is lost.} other {The sessions have not started, so nothing is lost.}}',
  andMore: 'and {count, number} more',
} as const

export default en
export const t = defineWords('terminate', en)
