export default {
  unread: '{count, plural, =0 {No unread notifications} one {# unread notification} other {# unread notifications}}',
} as const
