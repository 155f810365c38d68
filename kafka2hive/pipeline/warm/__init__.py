"""What makes a start cheap: an archive of the classes that the driver's JVM loads, imports before workers are forked."""
