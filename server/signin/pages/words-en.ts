/** The English texts of the pages. */
import { html } from '#pages/html.ts'
import type { Words } from './words.ts'

const minutesOf = (count: number): string => (count === 1 ? '1 minute' : `${count} minutes`)

const attemptsLeft = (count: number): string =>
  count === 1 ? 'One attempt is left.' : `${count} attempts are left.`

export const ENGLISH: Words = {
  errorPrefix: 'Error: ',
  signIn: {
    heading: 'Sign in',
    title: (client) => `Sign in to ${client}`,
    lead: (client) => html`to continue to ${client}`,
    email: 'E-mail address',
    emailHint: 'We will send you a code. There is no password.',
    submit: 'Continue',
    or: 'or',
    noMethod:
      'Nobody can sign in here yet: there is no way to send you a code. Tell whoever runs this service.',
    identity: (name) => `Continue with ${name}`,
    continueAs: (email) => html`Continue as ${email}`,
    passkey: 'Sign in with a passkey',
    problems: {
      unreadable: () =>
        'This does not look like an e-mail address. It should be like name@example.com.',
      'too-many-codes': ({ minutes }) =>
        `Codes were asked for too often. Try again in ${minutesOf(minutes)}.`,
      'identity-refused': ({ name }) =>
        `${name} did not sign you in. Try again, or choose another way.`,
      'identity-failed': ({ name }) =>
        `${name} could not be reached, or its answer was invalid. Try again in a moment, or choose another way.`,
      'identity-unproved': ({ name }) =>
        `You have not signed in with ${name} before. Enter your e-mail address, and a code will show that it is yours; from then on ${name} is enough.`,
      'identity-unknown': ({ name }) =>
        `The identity that ${name} reported does not belong to anybody here. Choose another way, or ask whoever runs this service.`,
      'identity-gone': () => 'That way of signing in is no longer offered. Choose another one.',
    },
  },
  code: {
    heading: 'Enter your code',
    newCodeHeading: 'You need a new code',
    title: (client) => `Enter your code to sign in to ${client}`,
    sentByMail: (email, minutes) =>
      html`We sent a code to ${email}. It works for ${minutesOf(minutes)}.`,
    sentToLog: (email, minutes) =>
      html`There is no mail server yet, so the code for ${email} is in the server’s log. It works for ${minutesOf(minutes)}.`,
    sentAgain: 'A new code is on its way. The one before no longer works.',
    code: 'Code',
    submit: 'Sign in',
    resend: 'Send a new code',
    restart: 'Use another address',
    problems: {
      wrong: (problem) => `This is not the code. ${attemptsLeft(problem.attemptsLeft)}`,
      unreadable: () => 'A code has only digits, as many as we sent. Check what you typed.',
      expired: () => 'The code that we sent has expired.',
      spent: () => 'The code was mistyped too often and no longer works.',
      'too-many-codes': ({ minutes }) =>
        `Codes were asked for too often. A new one can be sent in ${minutesOf(minutes)}.`,
    },
  },
  passkey: {
    heading: 'Confirm that it is you',
    title: (client) => `Confirm that it is you to sign in to ${client}`,
    meaning: (email) => html`Signing in as ${email} also needs your passkey.`,
    submit: 'Use a passkey',
    restart: 'Use another address',
    missing: 'This browser has no passkeys, or runs no scripts. Use another browser.',
    failed: 'No passkey was given. Try again.',
    problems: {
      'passkey-gone': () => 'The passkey came too late. Try again.',
      'passkey-refused': () =>
        'This passkey is not known here, or is somebody else’s. Choose another one, or another way.',
      'passkey-known': () => 'This passkey was added before. Choose another device.',
      'passkey-too-many': () => 'You have as many passkeys as there may be. Remove one first.',
    },
  },
  newPasskey: {
    heading: 'Next time without a code?',
    meaning:
      'With a passkey you sign in by fingerprint, face or screen lock. It is kept by your device, and is no use to anybody else.',
    requiredHeading: 'Add a passkey',
    requiredMeaning:
      'You sign in here with a passkey: by fingerprint, face or screen lock. It is kept by your device, and is no use to anybody else.',
    submit: 'Add a passkey',
    skip: 'Not now',
    known: 'This device has a passkey for you already.',
  },
  consent: {
    heading: (client) => html`Let ${client} know who you are?`,
    title: (client) => `Let ${client} know who you are?`,
    lead: 'It will learn:',
    signedInAs: (email) => html`You are signed in as ${email}.`,
    scopes: {
      openid: 'that it is you, each time you come back',
      email: 'your e-mail address',
      profile: 'your name',
      groups: 'the groups that you belong to',
      offline_access: 'all this later too, when you are away',
    },
    otherScope: (scope) => html`what it calls ${scope}`,
    allow: 'Allow',
    deny: 'Do not allow',
  },
  device: {
    heading: 'Connect a device',
    lead: 'Enter the code that your device or program shows.',
    code: 'Code',
    codeHint: 'Eight letters. Capitals and the hyphen do not matter.',
    submit: 'Continue',
    problems: {
      unknown: () =>
        'This code is not known, was used already, or has expired. Check it, or let the device show a new one.',
    },
    confirmHeading: (client) => html`Sign in to ${client} on a device?`,
    confirmTitle: (client) => `Sign in to ${client} on a device?`,
    check: (client) => html`${client} must show exactly this code:`,
    warning:
      'Go on only if you started this yourself, and the device is in front of you. If somebody sent you the code or this address, they would be signed in as you.',
    askedFrom: (address) => html`The code was asked for from the network address ${address}.`,
    signedInAs: (email) => html`You are signed in as ${email}.`,
    confirm: 'Yes, continue',
    deny: 'No, stop',
    doneHeading: 'The device is signed in',
    done: (client, email) =>
      html`${client} goes on as ${email}. You can close this window and return to the device.`,
    deniedHeading: 'The device is not signed in',
    denied: 'Nothing was passed on. You can close this window.',
  },
  signOut: {
    heading: 'Sign out?',
    asked: (client) => html`${client} asks to sign you out here too.`,
    signedInAs: (email) => html`You are signed in as ${email}.`,
    submit: 'Sign out',
    stay: 'Stay signed in',
  },
  signedOut: {
    heading: 'You are signed out',
    meaning: 'You can close this window.',
    meaningWithClient: (client) => html`You can close this window, or go back to ${client}.`,
  },
  stayed: {
    heading: 'You are still signed in',
  },
  disabled: {
    heading: 'You cannot sign in',
    meaning: (email) =>
      html`Access for ${email} was turned off by whoever runs this service. If you think that this is a mistake, ask them.`,
    restart: 'Use another address',
  },
  notAllowed: {
    title: (client) => `No access to ${client}`,
    heading: (client) => html`You cannot open ${client}`,
    meaning: (email) => html`You are signed in as ${email}, who has no access to it.`,
    unproved: (email) =>
      html`${email} is a new address of yours, and gives you access once you sign in with a code that is sent to it.`,
    prove: 'Sign in with a code',
    ask: (contact) => html`To be given access, ask ${contact}.`,
    askOperator: 'To be given access, ask whoever runs this sign-in page.',
    leave: (client) => html`Back to ${client}`,
    restart: 'Sign in as somebody else',
  },
  onward: {
    heading: 'Just a moment',
    link: 'Continue',
  },
  errors: {
    'unknown-client': {
      heading: 'We do not know this application',
      meaning:
        'The application that sent you here is not registered with us. You have done nothing wrong: tell whoever runs it.',
    },
    'unregistered-redirect': {
      heading: 'We do not know the way back',
      meaning:
        'The application wants you sent to an address that is not registered for it, so we stopped here. You have done nothing wrong: tell whoever runs it.',
    },
    'bad-request': {
      heading: 'We cannot answer this request',
      meaning:
        'The application that sent you here asked for something that we do not understand. You have done nothing wrong: tell whoever runs it.',
    },
    expired: {
      heading: 'This page is out of date',
      meaning:
        'It waited too long, or was used already. Go back to the application and sign in again.',
    },
    'signed-in': {
      heading: 'You are signed in',
      meaning:
        'This page has done its work. Go back to the application: you need not sign in again.',
    },
    'other-browser': {
      heading: 'Please start again',
      meaning:
        'Signing in must end in the browser where it began, and cookies must be allowed. Go back to the application and sign in again.',
    },
    'not-found': {
      heading: 'There is nothing here',
      meaning: 'To sign in, start from the application that you want to use.',
    },
    'too-many-requests': {
      heading: 'Too many requests',
      meaning: 'Wait a few minutes, then begin again where you came from.',
    },
    failed: {
      heading: 'Something went wrong on our side',
      meaning: 'Try again in a moment. If it happens again, tell whoever runs this service.',
    },
  },
  errorId: 'Error id',
  errorIdUse: 'With this id, the failure can be found in the log.',
  errorDetail: 'For developers',
}
